/**
 * The managed credentials of one upstream: which one the next request carries, and which are put
 * aside for a while. Values live in here and in the pool's settings alone; what is shown of a
 * credential has none.
 */
import type { Outcome } from '../core/outcome.ts';
import { spentMs } from './verdict.ts';

export interface CredentialSpec {
  readonly name: string;
  /** The header that carries it, in lower case. */
  readonly header: string;
  readonly value: string;
}

export interface Credential extends CredentialSpec {
  /** Order of use: the lowest was used least recently. */
  usedAs: number;
  coolsUntilMs: number;
  /** The status for which it is put aside until then; null where it was not. */
  status: number | null;
}

/** All are put aside. */
export interface Cooling {
  readonly kind: 'cooling';
  /** When the first is free again. */
  readonly untilMs: number;
  /** For which they were put aside, each once, the smallest first. */
  readonly statuses: readonly number[];
}

export type Choice =
  | { readonly kind: 'chosen'; readonly credential: Credential | null }
  | Cooling;

const REFUSED_MS = 60_000;
/** After a 429 that does not say for how long, by a hint or by a window that is spent. */
const THROTTLED_MS = 1000;
const NONE: Choice = { kind: 'chosen', credential: null };

export class Credentials {
  readonly #all: readonly Credential[];
  #uses = 0;

  /**
   * @param before those of the same pool until now: who stays is the same object, since requests
   * that carry it are under way.
   */
  constructor(specs: readonly CredentialSpec[], before: Credentials | null = null) {
    const known = before === null ? [] : before.#all;
    this.#all = specs.map((spec) =>
      known.find((one) => isSame(one, spec)) ??
        { ...spec, usedAs: 0, coolsUntilMs: 0, status: null }
    );
    this.#uses = before === null ? 0 : before.#uses;
  }

  /** Whether a request could be sent now, without choosing. */
  look(nowMs: number): Choice {
    const [first] = this.#all;
    if (first === undefined) return NONE;
    let chosen: Credential | null = null;
    let untilMs = Infinity;
    for (const credential of this.#all) {
      if (credential.coolsUntilMs > nowMs) untilMs = Math.min(untilMs, credential.coolsUntilMs);
      else if (chosen === null || credential.usedAs < chosen.usedAs) chosen = credential;
    }
    if (chosen !== null) return { kind: 'chosen', credential: chosen };
    const statuses = new Set(this.#all.flatMap(({ status }) => status ?? []));
    return { kind: 'cooling', untilMs, statuses: [...statuses].sort((a, b) => a - b) };
  }

  /** The credential for a request that is sent now. */
  choose(nowMs: number): Choice {
    const choice = this.look(nowMs);
    if (choice.kind === 'chosen' && choice.credential !== null) {
      choice.credential.usedAs = ++this.#uses;
    }
    return choice;
  }

  /**
   * Puts one aside where the answer to a request that carried it says so, for a second at least.
   * With several, a refusal and its hints are of that one alone: the pool learns of it only where
   * no other is left, and never for how long. Gives back what the pool learns.
   */
  observe(credential: Credential, outcome: Outcome, nowMs: number): Outcome {
    const { kind, status, retryAfterMs, reading } = outcome;
    const isRefused = status === 401 || status === 403;
    if (!isRefused && status !== 429) return outcome;
    // Some vendors answer a rate refusal with 403: its hint says how long.
    const hintMs = kind === 'throttled' ? retryAfterMs ?? spentMs(reading ?? {}) ?? 0 : 0;
    const coolMs = Math.max(isRefused ? REFUSED_MS : THROTTLED_MS, hintMs);
    if (nowMs + coolMs >= credential.coolsUntilMs) {
      credential.coolsUntilMs = nowMs + coolMs;
      credential.status = status;
    }
    if (this.#all.length === 1) return outcome;
    const isOneFree = this.look(nowMs).kind === 'chosen';
    return { kind: kind === 'throttled' && isOneFree ? 'unknown' : kind, status };
  }

  /** What administrators see, without values. Instants are shifted to epoch ms. */
  shown({ nowMs, shiftMs }: { nowMs: number; shiftMs: number }): CredentialState[] {
    return this.#all.map(({ name, header, coolsUntilMs, status }) => {
      const isCooling = coolsUntilMs > nowMs;
      return {
        name,
        header,
        coolingUntil: isCooling ? coolsUntilMs + shiftMs : null,
        coolingFor: isCooling ? status : null,
      };
    });
  }
}

function isSame(one: CredentialSpec, other: CredentialSpec): boolean {
  return one.name === other.name && one.header === other.header && one.value === other.value;
}

export interface CredentialState {
  readonly name: string;
  readonly header: string;
  readonly coolingUntil: number | null;
  /** The status that put it aside. */
  readonly coolingFor: number | null;
}
