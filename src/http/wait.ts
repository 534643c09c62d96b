/**
 * How long an acquire may wait: the body's `waitMs`, else the header that asks for a wait, unless a
 * header forbids waiting.
 */
import type { HeaderSource } from '../access/header_source.ts';
import type { FaultParts } from './fault.ts';
import { wrongField } from './fault.ts';
import { ASKED } from './own_headers.ts';

const WAIT_HEADER = ASKED.waitMs.name;
const NO_QUEUE_HEADER = ASKED.noQueue.name;
const WHOLE = /^\d+$/;

export type Wait =
  | { readonly kind: 'wait'; readonly waitMs: number }
  | { readonly kind: 'bad'; readonly told: FaultParts };

/** @param fallbackMs the wait where nothing asks for one: 0 for locks. */
export function waitOf(headers: HeaderSource, bodyMs: number | undefined, fallbackMs = 0): Wait {
  const asked = headers.get(WAIT_HEADER);
  if (asked !== null && !WHOLE.test(asked)) {
    return { kind: 'bad', told: wrongField(WAIT_HEADER, 'must be a whole number of ms') };
  }
  const noQueue = headers.get(NO_QUEUE_HEADER);
  if (noQueue !== null && noQueue !== '0' && noQueue.toLowerCase() !== 'false') {
    return { kind: 'wait', waitMs: 0 };
  }
  const headerMs = asked === null ? fallbackMs : Number(asked);
  return { kind: 'wait', waitMs: bodyMs ?? headerMs };
}
