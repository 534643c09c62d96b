/**
 * The gate: asks a pool's policies about a request, and takes the nonce once all of them passed.
 * It answers at once wherever the policies can. Only an address that failed alone, a page of
 * another origin, or a signed body that cannot be read now is told so; all else fails alike.
 */
import type { AccessSpec } from '../wire_access.ts';
import { AccessSpec as AccessSchema } from '../wire_access.ts';
import { foreignPage } from './browser.ts';
import { KeyRing } from './keys.ts';
import type { Nonces } from './nonces.ts';
import { ADDRESS, POLICIES } from './policies.ts';
import type {
  AccessRequest,
  GuardedPool,
  Nonce,
  Policy,
  PolicyTools,
  PolicyVerdict,
} from './policy.ts';

export type Judgement = Pass | Fail;

export interface Pass {
  readonly kind: 'pass';
  readonly keyId: string | null;
  readonly signer: string | null;
  /**
   * Lower-case names of the headers that carried a checked key or token, which must not go on to
   * an upstream; a cookie as `cookie:name`.
   */
  readonly carriers: readonly string[];
  /** Whether a nonce was taken, which must be durable before what it allows is told. */
  readonly hasNonce: boolean;
}

export interface Fail {
  readonly kind: 'fail';
  readonly status: 401 | 403 | 413 | 503;
  /** For the access log alone: which policy failed, and how. */
  readonly reason: string;
  /** Whether all other policies passed. */
  readonly isAddressAlone: boolean;
}

/** A pool that does not exist is judged like this one: no key fits. */
const NOBODY: GuardedPool = {
  spec: { name: '', access: AccessSchema.parse({}) as AccessSpec },
  keys: new KeyRing(),
};

interface Rule {
  readonly isAddress: boolean;
  readonly policy: Policy;
}

/** What is known of one request so far. */
interface Run {
  readonly pool: GuardedPool;
  readonly rules: readonly Rule[];
  readonly request: AccessRequest;
  keyId: string | null;
  signer: string | null;
  carriers: readonly string[];
  isProven: boolean;
  nonce: Nonce | null;
  addressFault: string | null;
  bodyFault: { readonly status: 413 | 503; readonly reason: string } | null;
}

const NO_CARRIERS: readonly string[] = [];

export class Gate {
  readonly #nonces: Nonces;
  readonly #steadyEpochMs: () => number;
  readonly #tools: PolicyTools;
  /** The rules of an entry; a change of a pool makes a new entry. */
  readonly #rules = new WeakMap<GuardedPool, readonly Rule[]>();

  /** @param options.steadyEpochMs by which nonces are forgotten. */
  constructor(options: PolicyTools & { nonces: Nonces; steadyEpochMs: () => number }) {
    const { nonces, steadyEpochMs, ...tools } = options;
    this.#nonces = nonces;
    this.#steadyEpochMs = steadyEpochMs;
    this.#tools = tools;
  }

  /** Judges a request to the pool; undefined: there is none, which fails like a wrong key. */
  judge(pool: GuardedPool | undefined, request: AccessRequest): Judgement | Promise<Judgement> {
    const guarded = pool ?? NOBODY;
    return this.#ask({
      pool: guarded,
      rules: this.#rulesOf(guarded),
      request,
      keyId: null,
      signer: null,
      carriers: NO_CARRIERS,
      isProven: false,
      nonce: null,
      addressFault: null,
      bodyFault: null,
    }, 0);
  }

  #rulesOf(pool: GuardedPool): readonly Rule[] {
    let rules = this.#rules.get(pool);
    if (rules === undefined) {
      rules = POLICIES.flatMap((kind) => {
        const policy = kind.make(pool, this.#tools);
        return policy === null ? [] : [{ isAddress: kind === ADDRESS, policy }];
      });
      this.#rules.set(pool, rules);
    }
    return rules;
  }

  #ask(run: Run, from: number): Judgement | Promise<Judgement> {
    const { rules, request } = run;
    for (let i = from; i < rules.length; i++) {
      const rule = rules[i] as Rule;
      const verdict = rule.policy.judge(request);
      if (verdict instanceof Promise) {
        return verdict.then((known) => take(run, rule, known) ?? this.#ask(run, i + 1));
      }
      const failed = take(run, rule, verdict);
      if (failed !== null) return failed;
    }
    return this.#conclude(run);
  }

  #conclude(run: Run): Judgement {
    if (run.bodyFault !== null) {
      const { status, reason } = run.bodyFault;
      // An address that is not allowed must not learn more than one that proved nothing.
      return failed(run.addressFault === null ? status : 401, reason);
    }
    if (run.addressFault !== null) {
      return { ...failed(403, run.addressFault), isAddressAlone: true };
    }
    const page = run.isProven ? null : foreignPage(run.request);
    if (page !== null) return failed(403, page);
    if (run.nonce !== null) {
      const taken = this.#nonces.take(run.pool.spec.name, run.nonce, this.#steadyEpochMs());
      if (taken !== 'taken') return failed(401, `hmac: nonce ${taken}`);
    }
    const { keyId, signer, carriers, nonce } = run;
    return { kind: 'pass', keyId, signer, carriers, hasNonce: nonce !== null };
  }
}

/** Notes what a policy said; null where the others are still to be asked. */
function take(run: Run, rule: Rule, verdict: PolicyVerdict): Fail | null {
  if (verdict.kind === 'fail') {
    if (rule.isAddress) run.addressFault = verdict.reason;
    else if (verdict.bodyStatus === undefined) return failed(401, verdict.reason);
    else run.bodyFault = { status: verdict.bodyStatus, reason: verdict.reason };
    return null;
  }
  run.keyId ??= verdict.keyId ?? null;
  run.signer ??= verdict.signer ?? null;
  if (verdict.carriers !== undefined) {
    run.carriers = run.carriers.length === 0
      ? verdict.carriers
      : [...run.carriers, ...verdict.carriers];
  }
  if (verdict.isProven) run.isProven = true;
  if (verdict.nonce !== undefined) run.nonce = verdict.nonce;
  return null;
}

function failed(status: Fail['status'], reason: string): Fail {
  return { kind: 'fail', status, reason, isAddressAlone: false };
}
