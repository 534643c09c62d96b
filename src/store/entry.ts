/**
 * An access-log entry: one attempt that reached a pool, granted or refused, or a proxied request.
 * It never holds a secret and never a slotId.
 */
export interface LogEntry {
  /**
   * The attempt's id, as `x-nthpool-request-id` told it: a number in base 36. No two entries have
   * the same; a summary row has one of its own.
   */
  readonly id: string;
  /** Epoch ms of the decision. */
  readonly at: number;
  readonly pool: string;
  readonly kind: 'lock' | 'proxy';
  /** `granted`, an error code, or `client_gone`. */
  readonly outcome: string;
  /** HTTP status that was answered; null where nobody was left to answer. */
  readonly status: number | null;
  /** Why, where the outcome alone does not say it (a refusal's reason, the policy that failed). */
  readonly reason: string | null;
  readonly queuedMs: number;
  readonly slots: number;
  readonly keyId: string | null;
  readonly address: string | null;
  readonly holder: string | null;
  /** LLM tokens that a grant reserved, where its caller gave an estimate. */
  readonly tokens?: number;
  /** What only proxied requests have. */
  readonly proxied?: ProxiedEntry;
  /** How many attempts a summary row stands for. */
  readonly count?: number;
}

export interface ProxiedEntry {
  readonly method: string;
  readonly path: string;
  readonly upstreamStatus: number | null;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly credential: string | null;
}

/** Of a request that asked for a path of a pool's host and was never forwarded. */
export function unsent(method: string, path: string): ProxiedEntry {
  return {
    method,
    path,
    upstreamStatus: null,
    durationMs: 0,
    bytesIn: 0,
    bytesOut: 0,
    credential: null,
  };
}
