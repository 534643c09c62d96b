/**
 * All that decides who may call, put together for one server.
 */
import type { NonceRow } from '../store/store.ts';
import { Gate } from './gate.ts';
import { KeySets } from './key_sets.ts';
import { Nonces } from './nonces.ts';
import type { AddressSettings } from './peer_address.ts';
import { AddressReader } from './peer_address.ts';
import type { FetchKeys, Timing } from './remote_keys.ts';
import { Slowdown } from './slowdown.ts';

export interface AccessOptions extends Partial<AddressSettings> {
  readonly clock: Timing & { readonly shiftMs: number; readonly steadyShiftMs: number };
  /** Writes a nonce down. */
  readonly keepNonce: (row: NonceRow) => void;
  readonly fetch?: FetchKeys;
}

export interface Access {
  readonly gate: Gate;
  readonly nonces: Nonces;
  readonly addresses: AddressReader;
  readonly slowdown: Slowdown;
}

export function openAccess(options: AccessOptions): Access {
  const { clock, keepNonce, trustedProxies = [], clientIpHeader = 'x-forwarded-for' } = options;
  const nonces = new Nonces(keepNonce);
  const keySets = new KeySets(clock, options.fetch ?? ((url, init) => fetch(url, init)));
  const epochMs = () => clock.nowMs() + clock.shiftMs;
  const steadyEpochMs = () => clock.nowMs() + clock.steadyShiftMs;
  return {
    nonces,
    gate: new Gate({ nonces, keySets, epochMs, steadyEpochMs }),
    addresses: new AddressReader({ trustedProxies, clientIpHeader }),
    slowdown: new Slowdown(),
  };
}
