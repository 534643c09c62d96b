/**
 * What is asked under an Idempotency-Key, and which slot it brought.
 */
import type { Verdict } from '../../src/scheduler/verdict.ts';
import { presenceOf } from './presence.ts';

export function ask(more: { waitMs?: number; keyId?: string; signal?: AbortSignal } = {}) {
  const { waitMs = 0, keyId = 'k', signal } = more;
  return {
    door: 'lock',
    slots: 1,
    tokens: 0,
    holder: null,
    address: null,
    waitMs,
    keyId,
    signer: null,
    presence: presenceOf(signal),
  } as const;
}

export function slotOf(verdict: Verdict): string {
  if (verdict.kind === 'refused') throw new Error(`refused: ${verdict.code}`);
  return verdict.lease.slotId;
}
