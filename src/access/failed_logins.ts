/**
 * How often each address (IPv6: one /64) failed to sign in within the last minute: after five it
 * is turned away unheard. There is room for so many addresses, and the longest quiet goes: a crowd
 * of them shuts nobody out, and cannot guess a token either.
 */
import { networkOf } from '../cidr.ts';

const WINDOW_MS = 60_000;
const FAILURES_MAX = 5;
const ADDRESSES_MAX = 10_000;

export class FailedLogins {
  /** When each failure was, by address; who failed last is last. */
  readonly #failures = new Map<string, readonly number[]>();

  /** Ms until the address may try again; 0: now. */
  waitMs(peer: string, nowMs: number): number {
    const failures = this.#recent(networkOf(peer), nowMs);
    const [oldest = nowMs] = failures;
    return failures.length < FAILURES_MAX ? 0 : oldest + WINDOW_MS - nowMs;
  }

  note(peer: string, nowMs: number): void {
    const address = networkOf(peer);
    const failures = [...this.#recent(address, nowMs), nowMs];
    this.#failures.delete(address);
    this.#failures.set(address, failures);
    if (this.#failures.size <= ADDRESSES_MAX) return;
    const [longestQuiet = ''] = this.#failures.keys();
    this.#failures.delete(longestQuiet);
  }

  get size(): number {
    return this.#failures.size;
  }

  #recent(address: string, nowMs: number): readonly number[] {
    return (this.#failures.get(address) ?? []).filter((at) => nowMs - at < WINDOW_MS);
  }
}
