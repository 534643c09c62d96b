/** The admin page of a server with TLS of its own: what its cookie says. */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { expect, test } from 'vitest';
import { makeCertificate } from './certificate.ts';
import { freshFolder } from './process.ts';
import { ADMIN_TOKEN, startServer } from './server.ts';

function send(url: string, method: string, headers: Record<string, string>, body = '') {
  return new Promise<IncomingMessage>((done, fail) => {
    const sent = request(url, { method, headers, rejectUnauthorized: false }, (answer) => {
      answer.resume().on('end', () => done(answer));
    });
    sent.on('error', fail).end(body);
  });
}

test('under TLS the session cookie is __Host-, Secure, and the only one that counts', async () => {
  const folder = freshFolder();
  const { flags } = makeCertificate(folder);
  const { origin } = await startServer({ folder, flags });
  expect(origin).toMatch(/^https:/);
  const form = { origin, 'content-type': 'application/x-www-form-urlencoded' };
  const signedIn = await send(`${origin}/admin/sign-in`, 'POST', form, `token=${ADMIN_TOKEN}`);
  expect(signedIn.statusCode).toBe(303);
  const [cookie = '', ...more] = signedIn.headers['set-cookie'] ?? [];
  expect(more).toEqual([]);
  const [pair = '', ...attributes] = cookie.split('; ');
  const [name, id] = pair.split('=');
  expect(name).toBe('__Host-nthbouncer');
  expect(attributes.sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']);
  const read = async (cookie: string) =>
    (await send(`${origin}/admin/api/pools`, 'GET', { cookie })).statusCode;
  expect(await read(pair)).toBe(200);
  expect(await read(`nthbouncer=${id}`)).toBe(401);
});
