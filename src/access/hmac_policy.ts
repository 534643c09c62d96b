/**
 * The HMAC policy: the request is signed with a shared secret, within a time, once. The signature
 * is checked before the nonce is looked at, and the nonce is only handed back here: it is taken
 * when all policies passed.
 */
import { hash } from 'node:crypto';
import { CEILINGS } from '../ceilings.ts';
import { HmacKey, isSameHex } from './hmac_key.ts';
import type { AccessRequest, PolicyFail, PolicyKind, PolicyVerdict, SignedBody } from './policy.ts';
import { signedText } from './signed_text.ts';

const TIMESTAMP = /^(0|[1-9]\d{0,15})$/;
const NONCE = /^[\x21-\x7e]{1,128}$/;
const SIGNATURE = /^v1=([0-9a-f]{64})$/;

const EMPTY_HASH = hash('sha256', '', 'hex');

interface Signed {
  readonly timestamp: string;
  readonly nonce: string;
  /** Lower-case hex. */
  readonly signature: string;
}

export const hmacPolicy: PolicyKind = {
  name: 'hmac',
  make: ({ spec }, { epochMs }) => {
    const settings = spec.access.hmac;
    if (settings === null) return null;
    const { secrets, toleranceMs, bodyBytesMax } = settings;
    const keys = secrets.map((secret) => new HmacKey(secret));

    const judgeBody = (request: AccessRequest, signed: Signed, body: SignedBody): PolicyVerdict => {
      if (body.kind === 'bad') return fail('body not read');
      if (body.kind === 'too_large') return { ...fail('body too large'), bodyStatus: 413 };
      if (body.kind === 'crowded') return { ...fail('too many large bodies'), bodyStatus: 503 };
      const bodyHash = body.bytes.length === 0 ? EMPTY_HASH : hash('sha256', body.bytes, 'hex');
      const { pool, door, method, target } = request;
      const { timestamp, nonce } = signed;
      const text = signedText({ pool, door, timestamp, nonce, method, target, bodyHash });
      const signer = signerOf(keys, text, signed.signature);
      if (signer === null) return fail('wrong signature');
      const taken = { nonce, signedAtMs: Number(timestamp), toleranceMs };
      return { kind: 'pass', isProven: true, signer, nonce: taken };
    };

    return {
      judge: (request) => {
        const signed = readHeaders(request);
        if (signed.kind === 'fail') return signed;
        const atMs = Number(signed.timestamp);
        if (Math.abs(epochMs() - atMs) > toleranceMs) return fail('timestamp out of tolerance');
        // Lock bodies have a ceiling of their own, which only a right signature is told of.
        const isLock = request.door === 'lock';
        const body = request.body(isLock ? CEILINGS.signedLockBodyBytes : bodyBytesMax);
        return body instanceof Promise
          ? body.then((read) => judgeBody(request, signed, read))
          : judgeBody(request, signed, body);
      },
    };
  },
};

function readHeaders({ headers }: AccessRequest): Signed & { kind: 'signed' } | PolicyFail {
  const timestamp = headers.get('x-nthpool-timestamp');
  const nonce = headers.get('x-nthpool-nonce');
  const signature = headers.get('x-nthpool-signature');
  if (timestamp === null || nonce === null || signature === null) return fail('missing');
  const [, hex] = SIGNATURE.exec(signature) ?? [];
  if (hex === undefined || !TIMESTAMP.test(timestamp) || !NONCE.test(nonce)) {
    return fail('malformed');
  }
  return { kind: 'signed', timestamp, nonce, signature: hex };
}

/** The secret's fingerprint. Tries every secret, so that the time does not tell which it was. */
function signerOf(keys: readonly HmacKey[], text: string, signature: string): string | null {
  let signer: string | null = null;
  for (const key of keys) if (isSameHex(key.sign(text), signature)) signer = key.fingerprint;
  return signer;
}

function fail(reason: string): PolicyFail {
  return { kind: 'fail', reason: `hmac: ${reason}` };
}
