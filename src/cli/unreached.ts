/**
 * Why a server could not be reached, in words for the person who asked. The runtime says "fetch
 * failed" and hides the reason in the cause, behind its own words for how it came there.
 */
import { messageOf } from '../log.ts';

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
  if (fault === undefined) return reason;
  if (fault !== 'UnknownIssuer') return `its certificate does not pass: ${fault}`;
  return 'its certificate is of an issuer that is not trusted here; DENO_CERT may name the PEM ' +
    'file of one more';
}
