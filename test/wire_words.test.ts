/** What is said of bodies that their schema refuses: one sentence each, and never a value. */
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  AcquireBody,
  complaintOf,
  KeyBody,
  LogParams,
  PoolSpec,
  ReleaseBody,
} from '../src/wire.ts';

function messageOf(schema: z.ZodType, value: unknown): string {
  const { error } = schema.safeParse(value);
  return error === undefined ? 'taken' : complaintOf(error).message;
}

const pool = (more: object) => ({ name: 'p', ...more });

describe('complaintOf', () => {
  it.each([
    [PoolSpec, undefined, 'The body must be a JSON object; none came.'],
    [AcquireBody, [], 'The body must be a JSON object; a list came.'],
    [AcquireBody, 'secret', 'The body must be a JSON object; text came.'],
    [AcquireBody, { slots: '3' }, 'slots: must be a number; text came'],
    [AcquireBody, { slots: 1.5 }, 'slots: must be a whole number'],
    [AcquireBody, { slots: 0 }, 'slots: must be at least 1'],
    [AcquireBody, { slots: 1e300 }, 'slots: must be at most 9007199254740991'],
    [AcquireBody, { waitMs: Infinity }, 'waitMs: must be a finite number'],
    [AcquireBody, { waitMs: 1.5 }, 'waitMs: must be a whole number'],
    [AcquireBody, { holder: true }, 'holder: must be text; true came'],
    [ReleaseBody, { throttled: true }, 'throttled: must be a number; true came'],
    [ReleaseBody, { rate: 7 }, 'rate: must be a JSON object; a number came'],
    [ReleaseBody, { headers: null, status: 99 }, 'status: must be at least 100'],
    [ReleaseBody, { headers: { a: 7 } }, 'headers.a: must be a string, or a list of strings'],
    [KeyBody, {}, 'name: must be text; none came'],
    [KeyBody, { name: '' }, 'name: must have at least 1 character'],
    [LogParams, { cursor: 'x'.repeat(65) }, 'cursor: must have at most 64 characters'],
    [PoolSpec, pool({ concurrency: null }), 'concurrency: must be a JSON object; null came'],
    [PoolSpec, pool({ rate: { learn: 1 } }), 'rate.learn: must be true or false; a number came'],
    [PoolSpec, pool({ rate: { kind: 'x' } }), 'rate.kind: must be one of auto, concurrency, rate'],
    [
      PoolSpec,
      pool({ access: { key: { headers: ['a b'] } } }),
      "access.key.headers.0: must be a header's name",
    ],
    [
      PoolSpec,
      pool({ access: { cloudflareAccess: { teamDomain: 'a', audience: 7 } } }),
      'access.cloudflareAccess.audience: must be text or a list; a number came',
    ],
    [
      PoolSpec,
      pool({ access: { cloudflareAccess: { teamDomain: 'a', audience: '' } } }),
      'access.cloudflareAccess.audience: must have at least 1 character',
    ],
    [
      PoolSpec,
      pool({ access: { cloudflareAccess: { teamDomain: 'a', audience: [] } } }),
      'access.cloudflareAccess.audience: must have at least 1 entry',
    ],
  ])('%# says what is wanted and what came', (schema, value, message) => {
    expect(messageOf(schema as z.ZodType, value)).toBe(message);
  });
});
