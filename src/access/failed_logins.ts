/**
 * How often each address (IPv6: one /64) failed to sign in within the last minute: after five it
 * is turned away unheard. Addresses are forgotten with their minute, and there is room for so
 * many; when it is used up nobody new may try, so that a crowd of addresses gets no more tries
 * than they.
 */
import { networkOf } from '../cidr.ts';

const WINDOW_MS = 60_000;
const FAILURES_MAX = 5;
const ADDRESSES_MAX = 10_000;

export class FailedLogins {
  /** When each failure was, by address. */
  readonly #failures = new Map<string, number[]>();

  /** Ms until the address may try again; 0: now. */
  waitMs(peer: string, nowMs: number): number {
    const address = networkOf(peer);
    const failures = this.#recent(address, nowMs);
    const [oldest] = failures;
    if (oldest !== undefined && failures.length >= FAILURES_MAX) return oldest + WINDOW_MS - nowMs;
    if (oldest === undefined && this.#failures.size >= ADDRESSES_MAX) {
      for (const each of [...this.#failures.keys()]) this.#recent(each, nowMs);
      if (this.#failures.size >= ADDRESSES_MAX) return WINDOW_MS;
    }
    return 0;
  }

  note(peer: string, nowMs: number): void {
    const address = networkOf(peer);
    this.#failures.set(address, [...this.#recent(address, nowMs), nowMs]);
  }

  #recent(address: string, nowMs: number): number[] {
    const recent = (this.#failures.get(address) ?? []).filter((at) => nowMs - at < WINDOW_MS);
    if (recent.length === 0) this.#failures.delete(address);
    else this.#failures.set(address, recent);
    return recent;
  }
}
