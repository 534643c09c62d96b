/** Certificates that nobody vouches for, made anew for each test. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Writes a certificate of one place, such as `IP:127.0.0.1`, and its key. */
export function makeCertificate(folder: string, place = 'DNS:localhost', name = 'localhost') {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', key, '-out', cert, '-days', '2', '-subj', `/CN=${name}`],
    ...['-addext', `subjectAltName=${place}`, '-addext', 'basicConstraints=critical,CA:FALSE'],
  ], { stdio: 'ignore' });
  return { cert, key, flags: ['--tls-cert', cert, '--tls-key', key] };
}

/** Dates a certificate anew, so that it expired a day ago. */
export function expire({ cert, key }: { readonly cert: string; readonly key: string }): void {
  execFileSync('openssl', ['x509', '-in', cert, '-key', key, '-days', '-1', '-out', cert]);
}
