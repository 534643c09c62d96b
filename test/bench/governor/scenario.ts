/**
 * What a scenario file says: an upstream, the workers in front of it, and what the ideal limiter
 * would reach. Times are ms of virtual time; `[[from, value], ...]` is a step function. The format
 * is data for the simulator alone; nothing in `src` may read it.
 */
export type Steps = readonly (readonly [number, number])[];

/** A refusal rule over requests, or over LLM tokens where `unit` says so. */
export interface RateRule {
  readonly kind: 'fixed' | 'sliding' | 'bucket';
  readonly unit?: 'requests' | 'tokens';
  readonly limit?: number;
  readonly windowMs?: number;
  readonly phaseMs?: number;
  readonly perSecond?: number;
  readonly burst?: number;
  /** Refused calls use up the rate too. */
  readonly refusalsCount?: boolean;
}

/** Headers that are the same on every answer, whatever the truth is. */
export interface FixedHeaders {
  readonly limit?: number;
  readonly remaining?: number;
  readonly resetMs?: number;
}

export interface Upstream {
  readonly service: { readonly ms: Steps; readonly cv: number; readonly knee: number | null };
  readonly cap: Steps | null;
  readonly rate: RateRule | null;
  readonly headers: 'true' | FixedHeaders | null;
  /** The upstream's clock runs this much ahead, as its reset headers show. */
  readonly headerSkewMs?: number;
  readonly retryAfter: 'true' | number | null;
  /** Faults that no limit is the cause of: one call in so much time is refused. */
  readonly faults?: { readonly everyMs: number; readonly retryAfterMs: number };
}

export interface WorkerGroup {
  readonly atMs: number;
  readonly count: number;
}

export interface Instance {
  readonly workers: readonly WorkerGroup[];
}

export interface Scenario {
  readonly name: string;
  readonly durationMs: number;
  readonly windowMs: number;
  readonly instances: readonly Instance[];
  readonly upstream: Upstream;
  readonly ideal: { readonly perSecond: Steps; readonly extra: number };
  readonly eventAtMs?: number;
  readonly measureFromMs?: number;
  readonly fairFromMs?: number;
  /** Calls pass through the proxy, so the time to the first byte is known. */
  readonly proxied?: boolean;
  /** Workers retry inside their lease and report once, at its release. */
  readonly retriesInLease?: boolean;
  /** LLM tokens of a call: lognormal, estimated exactly unless `estimate` gives a constant. */
  readonly tokens?: { readonly mean: number; readonly cv: number; readonly estimate?: number };
  /** Instants at which the server is killed and starts again from what it saved. */
  readonly restartsAtMs?: readonly number[];
  /** Share of the calls whose holder crashes: the slot stays taken until `termMs` is over. */
  readonly lost?: { readonly share: number; readonly termMs: number };
}

export interface ScenarioFile {
  readonly scenarios: readonly Scenario[];
  readonly variants: readonly Scenario[];
  readonly additions?: readonly Scenario[];
}

/** The value of a step function at an instant. */
export function stepAt(steps: Steps, atMs: number): number {
  let value = steps[0]?.[1] ?? 0;
  for (const [fromMs, next] of steps) {
    if (fromMs > atMs) break;
    value = next;
  }
  return value;
}

/** The integral over [fromMs, toMs) of a step function given per second. */
export function integrate(steps: Steps, fromMs: number, toMs: number): number {
  let sum = 0;
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index]!;
    const startMs = Math.max(fromMs, step[0]);
    const endMs = Math.min(toMs, steps[index + 1]?.[0] ?? Infinity);
    if (endMs > startMs) sum += (step[1] * (endMs - startMs)) / 1000;
  }
  return sum;
}
