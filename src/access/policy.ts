/**
 * The contract of an access policy: one rule about who may call a pool, made from the pool's
 * settings and asked for each request. A policy judges and remembers nothing of a request that
 * fails; it answers at once wherever it can, and with a promise only where it must wait.
 */
import type { AccessSpec } from '../wire_access.ts';
import type { RequestHeaders } from './header_source.ts';
import type { KeyRing } from './keys.ts';
import type { KeySets } from './key_sets.ts';
import type { PeerAddress } from './peer_address.ts';

export type SignedBody =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_large' }
  /** Large bodies hold all that they may together; later it may be read. */
  | { readonly kind: 'crowded' }
  | { readonly kind: 'bad'; readonly reason: string };

/** What of a request the policies read. */
export interface AccessRequest {
  /** The pool's name as the caller wrote it. */
  readonly pool: string;
  readonly door: 'lock' | 'proxy';
  readonly method: string;
  /** Path and query exactly as they were sent. */
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly address: PeerAddress;
  /** The authority (`host:port`) that the request was sent to. */
  readonly host: string;
  /** Whether the Host that the caller named is this server's: loopback, base domain, pool host. */
  readonly isOwnHost: boolean;
  /** Reads the body to its end, keeping at most so many bytes. The same promise each time. */
  body(bytesMax: number): SignedBody | Promise<SignedBody>;
}

export interface PolicyPass {
  readonly kind: 'pass';
  /** The pool key that was presented, by its id. */
  readonly keyId?: string | null;
  /** Lower-case names of the headers that carried a key or token; a cookie as `cookie:name`. */
  readonly carriers?: readonly string[];
  /** Whether something was checked that a browser does not send by itself. */
  readonly isProven: boolean;
  /** The fingerprint of the shared secret that signed it. */
  readonly signer?: string;
  /** To be taken once all policies passed. */
  readonly nonce?: Nonce;
}

export interface PolicyFail {
  readonly kind: 'fail';
  /** For the access log: which policy, and how. Never a value that the caller sent. */
  readonly reason: string;
  /** What is told where nothing but the body's size, or that of all others, was in the way. */
  readonly bodyStatus?: 413 | 503;
}

export type PolicyVerdict = PolicyPass | PolicyFail;

export interface Nonce {
  readonly nonce: string;
  /** Epoch ms. */
  readonly signedAtMs: number;
  /** The tolerance under which the timestamp passed, ms. */
  readonly toleranceMs: number;
}

export interface Policy {
  judge(request: AccessRequest): PolicyVerdict | Promise<PolicyVerdict>;
}

/** The pool whose rules are asked. */
export interface GuardedPool {
  readonly spec: { readonly name: string; readonly access: AccessSpec };
  readonly keys: KeyRing;
}

export interface PolicyTools {
  readonly epochMs: () => number;
  readonly keySets: KeySets;
}

/** A row of the table of policies. */
export interface PolicyKind {
  readonly name: string;
  /** The policy of a pool; null where its settings do not ask for it. */
  make(pool: GuardedPool, tools: PolicyTools): Policy | null;
}

/** Passes, and says nothing of the caller. */
export const PASS: PolicyPass = { kind: 'pass', isProven: false };
