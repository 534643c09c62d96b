/**
 * Why a server could not be reached, in words for the person who asked. The runtime says "fetch
 * failed" and hides the reason in the cause, behind its own words for how it came there.
 */
import { messageOf } from '../log.ts';

/** What is said of whatever answers in the place of a server. */
export function strangerAt(url: string, status?: number): string {
  const how = status === undefined ? '' : ` (status ${status})`;
  return `what answers at ${url} is no nthbouncer${how}`;
}

/** What is wrong with the server's certificate, as the runtime's TLS says it. */
const CERTIFICATE = /invalid peer certificate: (.+?)\.?$/;
const WAY = /^error sending request .*?: client error \(\w+\): /;

export function whyUnreached(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) {
    innermost = innermost.cause;
  }
  const isLate = innermost instanceof DOMException && innermost.name === 'TimeoutError';
  if (isLate) return 'nothing came in time';
  const reason = messageOf(innermost).replace(WAY, '');
  const [, fault] = CERTIFICATE.exec(reason) ?? [];
  if (fault !== undefined) {
    const [, said] = FAULTS.find(([word]) => fault.includes(word)) ?? [];
    return said ?? `its certificate does not pass: ${fault}`;
  }
  const [, hint] = OTHER_SCHEMES.find(([word]) => reason.includes(word)) ?? [];
  return hint === undefined ? reason : `${reason}; ${hint}`;
}

const FAULTS: readonly (readonly [fault: string, said: string])[] = [
  [
    'UnknownIssuer',
    'its certificate is of an issuer that is not trusted here; DENO_CERT may name the PEM file ' +
    'of one more',
  ],
  [
    'CaUsedAsEndEntity',
    "its certificate is an authority's own, self-signed say; the server wants one that an " +
    'authority has signed, and DENO_CERT the PEM file of that authority',
  ],
];

/** Each speaks TLS where the other does not. */
const OTHER_SCHEMES: readonly (readonly [reason: string, hint: string])[] = [
  ['invalid HTTP version parsed', 'it may speak TLS: try https in NTHBOUNCER_URL'],
  ['received corrupt message', 'it may speak no TLS: try http in NTHBOUNCER_URL'],
];
