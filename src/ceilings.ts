/**
 * Ceilings that hold for every server, in one place; docs/operations.md is tested against them.
 */
export const CEILINGS = {
  /** Bytes of a request line with its headers. */
  headBytes: 16 * 1024,
  lockBodyBytes: 64 * 1024,
  adminBodyBytes: 1024 * 1024,
  /** Read of a signed lock body: one that is too large but rightly signed is told so. */
  signedLockBodyBytes: 1024 * 1024,
  /** The most that a pool may ask to be read of a body before its signature is checked. */
  signedBodyBytes: 16 * 1024 * 1024,
  /** What large bodies whose signature is not checked yet may hold together. */
  unprovenBodiesBytes: 256 * 1024 * 1024,
  /** How long a body of ours may take to arrive. */
  bodyMs: 10_000,
  /**
   * What may be read ahead of a body before anybody reads it, so that its caller's leaving is
   * noticed, beyond 64 KiB that are always free; and what all such reading together may hold.
   */
  bodyAheadBytes: 1024 * 1024,
  bodiesAheadBytes: 128 * 1024 * 1024,
  pools: 10_000,
  keysOfPool: 1_000,
  noncesOfPool: 100_000,
  /** How far a pool may let the timestamp of a signature be off, ms. */
  toleranceMs: 900_000,
  /** Waiters of all pools together. */
  waiters: 100_000,
  /** Idempotency-Keys that are remembered; those of leases that ended go, then the oldest tenth. */
  repeatKeys: 100_000,
  /** Upstream response headers in one release report, and bytes of each. */
  reportHeaders: 64,
  reportHeaderBytes: 8 * 1024,
  /** What an upstream may be said to reset in, and a window's length; more is a lie, or no ms. */
  resetMs: 400 * 86_400_000,
} as const;
