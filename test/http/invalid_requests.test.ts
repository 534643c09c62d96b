/** What is wrong with a request is told as issues, whatever it is and whoever found it. */
import { describe, expect, it } from 'vitest';
import { refuseUnread } from '../../src/http/app.ts';
import { faultAnswer } from '../../src/http/fault.ts';
import type { Answer } from './door.ts';
import { Door, fixed } from './door.ts';

interface Issue {
  readonly path: string;
  readonly reason: string;
}

function issuesOf({ status, json }: Answer): Issue[] {
  expect(status).toBe(400);
  expect(json['error']).toBe('invalid_request');
  return json['issues'] as Issue[];
}

const caller = await (await Door.open()).pool('a', fixed(2));
const { door } = caller;

describe('an invalid request tells its issues', () => {
  it.each([
    ['a body that is no JSON', '{', {}],
    ['a body that is no UTF-8', new Uint8Array([0xff]), {}],
    ['a bad wait', '', { 'x-nthpool-queue-timeout-ms': 'soon' }],
    ['a bad key of a repeat', '', { 'idempotency-key': 'a b' }],
  ])('to acquire: %s', async (_, body, headers: Record<string, string>) => {
    const answer = await caller.acquire(body, { headers });
    const [path = ''] = Object.keys(headers);
    const [{ reason } = { reason: '' }] = issuesOf(answer);
    expect(issuesOf(answer)).toEqual([{ path, reason: expect.stringMatching(/./) }]);
    expect(answer.json['message']).toBe(path === '' ? reason : `${path}: ${reason}`);
  });

  it('to release: a body that is no JSON', async () => {
    const slotId = await caller.hold();
    expect(issuesOf(await caller.release(slotId, '{'))).toEqual([
      { path: '', reason: 'The body is not JSON.' },
    ]);
  });

  it.each([
    ['POST', '/pools', '{', ''],
    ['PATCH', '/pools/a', '[]', ''],
    ['PATCH', '/pools/a', { name: 'b' }, 'name'],
    ['POST', '/pools/a/pause', { untilMs: 1 }, 'untilMs'],
    ['GET', '/pools/a/log?cursor=x', undefined, 'cursor'],
    ['GET', '/pools/a/history?span=2d', undefined, 'span'],
  ])('to an administrator: %s %s %j', async (method, path, body, field) => {
    const issues = issuesOf(await door.admin(method, path, body));
    expect(issues).toEqual([{ path: field, reason: expect.stringMatching(/./) }]);
  });

  it('where nobody names a field: the sentence is the reason', () => {
    const message = 'This is not right.';
    const answers = [faultAnswer('invalid_request', { message }), faultAnswer('invalid_request')];
    const bodies = [...answers, refuseUnread('malformed', 'a bad header')]
      .map(({ body }) => JSON.parse(body));
    for (const { message, issues } of bodies) {
      expect(issues).toEqual([{ path: '', reason: message }]);
    }
    expect(bodies[0].message).toBe(message);
    expect(JSON.parse(faultAnswer('not_found').body)).not.toHaveProperty('issues');
  });
});
