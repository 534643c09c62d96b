/** Addresses under /admin that have no page: people are told so in one, programs as JSON. */
import { beforeEach, describe, expect, it } from 'vitest';
import { AS_ADMIN } from '../support/server.ts';
import { Door } from './door.ts';

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

let door: Door;
let cookie: string;

beforeEach(async () => {
  door = await Door.open();
  await door.pool('p1');
  cookie = `nthbouncer=${await door.server.desk.sessions.open(door.clock.nowMs())}`;
});

describe.each([
  ['/admin/nothing', 404],
  ['/admin/pools', 405],
  ['/admin/pools/', 404],
  ['/admin/pools/p1/nothing', 404],
  ['/admin/sign-out', 405],
])('%s', (path, status) => {
  it('is a page for a browser that is signed in', async () => {
    const answer = await door.call('GET', path, { headers: { ...HTML, cookie } });
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('There is no page at this address.');
    expect(answer.text).toContain('Sign out');
  });

  it('sends a browser that is not signed in to do so', async () => {
    const answer = await door.call('GET', path, { headers: HTML });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toContain('/admin/sign-in');
  });

  it('is JSON for a program, and for what is no visit', async () => {
    expect((await door.call('GET', path, { headers: AS_ADMIN })).status).toBe(status);
    const post = await door.call('DELETE', path, { headers: { ...HTML, cookie } });
    expect(post.headers.get('content-type')).toBe('application/json');
  });
});

it('an address of the API is JSON for a browser, too', async () => {
  const headers = { ...HTML, cookie };
  for (const path of ['/admin/api/nothing', '/admin/api/pools/p1/pause']) {
    const answer = await door.call('GET', path, { headers });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.json).toHaveProperty('error');
  }
});
