/** Answers of vendors at their edges: what is spent, what is over, and what must not be learned. */
import { expect, it } from 'vitest';
import type { RateReading } from '../../src/core/outcome.ts';
import { SAMPLE_NOW_MS } from '../../src/upstream/dialect.ts';
import { readRates } from '../../src/upstream/reader.ts';

const DAY_MS = 86_400_000;

type Row = readonly [vendor: string, Record<string, string>, RateReading];

const ROWS: readonly Row[] = [
  ['Azure OpenAI, requests not told', {
    'x-ratelimit-limit-requests': '-1',
    'x-ratelimit-remaining-requests': '-1',
    'x-ratelimit-reset-requests': '0',
    'x-ratelimit-remaining-tokens': '900',
    'x-ratelimit-reset-tokens': '6',
  }, { tokenRemaining: 900, tokenResetMs: 6_000, tokenRefills: true }],
  ['OpenAI, its twins of what is paid by use', {
    'x-ratelimit-remaining-tokens': '900',
    'x-ratelimit-remaining-tokens_usage_based': '0',
    'x-ratelimit-reset-tokens_usage_based': '1h',
  }, { tokenRemaining: 900 }],
  ['Together, tokens spent', {
    'x-ratelimit-limit': '10',
    'x-ratelimit-remaining': '9',
    'x-tokenlimit-limit': '3000',
    'x-tokenlimit-remaining': '0',
    'x-tokenlimit-reset': '2',
  }, { limit: 10, remaining: 9, tokenLimit: 3_000, tokenRemaining: 0, tokenResetMs: 2_000 }],
  ['Mistral, what one query cost', { 'x-ratelimit-tokens-query-cost': '21' }, {}],
  ['Anthropic, a reset just past', {
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '49',
    'anthropic-ratelimit-requests-reset': '2025-12-31T23:59:59Z',
  }, { limit: 50, remaining: 49, resetMs: 0, refills: true }],
  ['GitHub, its second limit', {
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': '4000',
    'x-ratelimit-reset': '1767229200',
    'retry-after': '60',
  }, { limit: 5_000, remaining: 4_000, resetMs: 3_600_000, retryAfterMs: 60_000 }],
  ['WHOOP, which spells the window out', {
    'X-RateLimit-Limit': '100, 100;window=60;comment="a, b"',
    'X-RateLimit-Remaining': '98',
    'X-RateLimit-Reset': '3',
  }, { limit: 100, remaining: 98, resetMs: 3_000, windowMs: 60_000 }],
  ['Discord, by its epoch alone', {
    'X-RateLimit-Limit': '5',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': '1767225601.123',
  }, { limit: 5, remaining: 0, resetMs: 1_123 }],
  ['Shopify, over its limit', { 'X-Shopify-Shop-Api-Call-Limit': '41/40' }, {
    limit: 40,
    remaining: 0,
  }],
  ['HubSpot, the day spent', {
    'X-HubSpot-RateLimit-Max': '100',
    'X-HubSpot-RateLimit-Remaining': '97',
    'X-HubSpot-RateLimit-Daily': '250000',
    'X-HubSpot-RateLimit-Daily-Remaining': '0',
    'X-HubSpot-RateLimit-Secondly-Remaining': '0',
  }, {
    limit: 250_000,
    remaining: 0,
    windowMs: DAY_MS,
    windows: [{ limit: 100, remaining: 97 }, { limit: 250_000, remaining: 0, windowMs: DAY_MS }],
  }],
  ['Contentful, both windows spent', {
    'X-Contentful-RateLimit-Second-Limit': '10',
    'X-Contentful-RateLimit-Second-Remaining': '0',
    'X-Contentful-RateLimit-Hour-Limit': '36000',
    'X-Contentful-RateLimit-Hour-Remaining': '0',
    'X-Contentful-RateLimit-Reset': '1800',
  }, {
    limit: 36_000,
    remaining: 0,
    resetMs: 1_800_000,
    windowMs: 3_600_000,
    windows: [
      { limit: 10, remaining: 0, windowMs: 1_000 },
      { limit: 36_000, remaining: 0, resetMs: 1_800_000, windowMs: 3_600_000 },
    ],
  }],
  ['Xero, the day spent', {
    'X-DayLimit-Remaining': '0',
    'X-MinLimit-Remaining': '59',
    'X-Rate-Limit-Problem': 'day',
    'Retry-After': '3600',
  }, {
    remaining: 0,
    windowMs: DAY_MS,
    retryAfterMs: 3_600_000,
    scope: 'day',
    windows: [{ remaining: 0, windowMs: DAY_MS }, { remaining: 59, windowMs: 60_000 }],
  }],
  ['Path of Exile, the second of two rules spent', {
    'X-Rate-Limit-Rules': 'Ip,Account',
    'X-Rate-Limit-Ip': '8:10:60',
    'X-Rate-Limit-Ip-State': '1:10:0',
    'X-Rate-Limit-Account': '3:5:60',
    'X-Rate-Limit-Account-State': '3:5:0',
  }, {
    limit: 3,
    remaining: 0,
    windowMs: 5_000,
    windows: [
      { name: 'ip', limit: 8, remaining: 7, windowMs: 10_000 },
      { name: 'account', limit: 3, remaining: 0, windowMs: 5_000 },
    ],
  }],
  ['KuCoin, whose window is over', {
    'gw-ratelimit-limit': '4000',
    'gw-ratelimit-remaining': '0',
    'gw-ratelimit-reset': '0',
  }, { limit: 4_000, remaining: 0, resetMs: 0 }],
  ['Azure, one count that is none', { 'x-ms-ratelimit-remaining-resource': 'a;x,b;5' }, {
    remaining: 5,
  }],
  ['Auth0, quotas of issued tokens', { 'auth0-client-quota-limit': 'b=per_hour;q=10;r=0;t=9' }, {}],
  ['Sentry, a ban of all', { 'X-Sentry-Rate-Limits': '60::organization, 5:error:key' }, {
    retryAfterMs: 60_000,
  }],
  ['a budget of cost', { 'X-RateLimit-Cost-Limit': '100', 'X-RateLimit-Cost-Remaining': '0' }, {}],
];

it.each(ROWS)('readRates reads %s', (_vendor, headers, reading) => {
  expect(readRates(headers, { nowMs: SAMPLE_NOW_MS })).toEqual(reading);
});
