/**
 * The rows of platforms for developers: trackers, content, edges, flags. Many put names of their
 * own between the common ones, so that the order of words matters; what counts points or
 * complexity is marked with its unit and fills no request field.
 */
import type { Dialect } from '../dialect.ts';
import { HOUR_MS, SECOND_MS } from '../reset.ts';
import { countsRequests, plain, readCategoryBans, readEndpoint } from './forms.ts';

export const PLATFORMS: readonly Dialect[] = [
  {
    name: 'contentful',
    vendors: 'Contentful',
    documentation: 'https://www.contentful.com/developers/docs/references/content-management-api/',
    family: 'x-contentful-ratelimit',
    reset: 'auto',
    names: {
      ...plain('x-contentful-ratelimit-'),
      'x-contentful-ratelimit-{window}-{field}': {},
    },
    samples: [{
      headers: {
        'X-Contentful-RateLimit-Hour-Limit': '36000',
        'X-Contentful-RateLimit-Hour-Remaining': '35883',
        'X-Contentful-RateLimit-Second-Limit': '10',
        'X-Contentful-RateLimit-Second-Remaining': '0',
        'X-Contentful-RateLimit-Reset': '1',
      },
      reading: {
        limit: 10,
        remaining: 0,
        resetMs: SECOND_MS,
        windowMs: SECOND_MS,
        windows: [
          { limit: 36_000, remaining: 35_883, windowMs: HOUR_MS },
          { limit: 10, remaining: 0, resetMs: SECOND_MS, windowMs: SECOND_MS },
        ],
      },
    }],
  },
  {
    name: 'akamai',
    vendors: 'Akamai: the time of the next call, not of the reset',
    documentation: 'https://techdocs.akamai.com/developer/docs/rate-limiting',
    family: 'x-ratelimit',
    reset: 'none',
    names: { 'x-ratelimit-next': { field: 'retryAfter', unit: 'auto' } },
    samples: [{
      headers: {
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Next': '2026-01-01T00:00:01.500Z',
      },
      reading: { limit: 60, remaining: 0, retryAfterMs: 1_500 },
    }],
  },
  {
    name: 'unit-first',
    vendors: 'Linear with an epoch in ms, RapidAPI with seconds; other objects of RapidAPI count ' +
      'what only their API knows, and are not read',
    documentation: 'https://linear.app/developers/rate-limiting',
    family: 'x-ratelimit',
    reset: 'auto',
    names: {
      'x-ratelimit-{unit}-{field}': {},
      'x-ratelimit-complexity-{field}': { mark: { key: 'complexity', unit: 'complexity' } },
    },
    samples: [{
      headers: {
        'X-RateLimit-Requests-Limit': '2500',
        'X-RateLimit-Requests-Remaining': '2000',
        'X-RateLimit-Requests-Reset': '1767227400000',
        'X-RateLimit-Complexity-Limit': '3000000',
        'X-RateLimit-Complexity-Remaining': '0',
        'X-RateLimit-Complexity-Reset': '1767227400000',
      },
      reading: {
        limit: 2_500,
        remaining: 2_000,
        resetMs: 1_800_000,
        windows: [
          { unit: 'requests', limit: 2_500, remaining: 2_000, resetMs: 1_800_000 },
          { unit: 'complexity', limit: 3_000_000, remaining: 0, resetMs: 1_800_000 },
        ],
      },
    }],
  },
  {
    name: 'jira-points',
    vendors: 'Jira and Confluence Cloud: hourly points beside the requests of x-ratelimit',
    documentation: 'https://developer.atlassian.com/cloud/jira/platform/rate-limiting/',
    family: 'jira-points',
    reset: 'auto',
    names: {
      'beta-ratelimit': { field: 'combined', mark: { key: 'points', unit: 'points' } },
      'beta-ratelimit-policy': { field: 'policy' },
      // An hour behind what Beta-RateLimit says; without a name here it would be any-prefix's.
      'x-beta-ratelimit-reset': {},
      'x-beta-ratelimit-reason': { field: 'scope' },
    },
    samples: [{
      headers: {
        'Beta-RateLimit': '"tenant-app-quota";r=17842;t=2107',
        'Beta-RateLimit-Policy': '"tenant-app-quota";q=100100;w=3600',
        'X-RateLimit-Limit': '350',
        'X-RateLimit-Remaining': '349',
      },
      reading: {
        limit: 350,
        remaining: 349,
        windows: [
          { limit: 350, remaining: 349 },
          {
            name: 'tenant-app-quota',
            unit: 'points',
            limit: 100_100,
            remaining: 17_842,
            resetMs: 2_107_000,
            windowMs: HOUR_MS,
          },
        ],
      },
    }],
  },
  {
    name: 'zendesk',
    vendors: 'Zendesk: limits of single endpoints beside the account of x-rate-limit',
    documentation: 'https://developer.zendesk.com/api-reference/introduction/rate-limits/',
    family: 'x-rate-limit',
    reset: 'none',
    names: { 'zendesk-ratelimit-{name}': { mark: { key: 'endpoint' }, read: readEndpoint } },
    samples: [{
      headers: {
        'X-Rate-Limit': '700',
        'X-Rate-Limit-Remaining': '650',
        'Zendesk-RateLimit-tickets-index': 'total=100; remaining=0; resets=20',
      },
      reading: {
        limit: 700,
        remaining: 650,
        windows: [
          { limit: 700, remaining: 650 },
          { name: 'tickets-index', limit: 100, remaining: 0, resetMs: 20_000 },
        ],
      },
    }],
  },
  {
    name: 'launchdarkly',
    vendors: 'LaunchDarkly: one window for all, one a route, one a credential',
    documentation: 'https://launchdarkly.com/docs/api#rate-limiting',
    family: 'x-ratelimit',
    reset: 'auto',
    names: {
      'x-ratelimit-global-{field}': { mark: { key: 'global', name: 'global' } },
      'x-ratelimit-route-{field}': { mark: { key: 'route', name: 'route' } },
      'x-ratelimit-auth-token-{field}': { mark: { key: 'auth-token', name: 'auth-token' } },
    },
    samples: [{
      headers: {
        'X-Ratelimit-Global-Remaining': '20',
        'X-Ratelimit-Route-Limit': '10',
        'X-Ratelimit-Route-Remaining': '3',
        'X-Ratelimit-Reset': '1767225604000',
      },
      reading: {
        limit: 10,
        remaining: 3,
        resetMs: 4_000,
        windows: [
          { name: 'global', remaining: 20 },
          { name: 'route', limit: 10, remaining: 3, resetMs: 4_000 },
        ],
      },
    }],
  },
  {
    name: 'name-suffix',
    vendors: 'NestJS throttler and Split: any name of a window behind the field',
    documentation: 'https://docs.nestjs.com/security/rate-limiting',
    family: 'x-ratelimit',
    reset: 'auto',
    names: {
      'x-ratelimit-{field}-{name}': {
        accepts: (name) => /^[a-z0-9_]{1,32}$/.test(name) && countsRequests(name),
      },
    },
    samples: [{
      headers: {
        'X-RateLimit-Limit-short': '3',
        'X-RateLimit-Remaining-short': '2',
        'X-RateLimit-Reset-short': '1',
        'X-RateLimit-Limit-long': '100',
        'X-RateLimit-Remaining-long': '1',
        'X-RateLimit-Reset-long': '57',
      },
      reading: {
        limit: 100,
        remaining: 1,
        resetMs: 57_000,
        scope: 'long',
        windows: [
          { name: 'short', limit: 3, remaining: 2, resetMs: 1_000 },
          { name: 'long', limit: 100, remaining: 1, resetMs: 57_000 },
        ],
      },
    }],
  },
  {
    name: 'sentry',
    vendors: 'Sentry ingest: a wait for each category; Retry-After, if there, is their short form',
    documentation: 'https://develop.sentry.dev/sdk/expected-features/rate-limiting/',
    family: 'sentry',
    reset: 'none',
    names: { 'x-sentry-rate-limits': { read: readCategoryBans } },
    samples: [{
      headers: { 'X-Sentry-Rate-Limits': '60:transaction:key, 2700:default;error:organization' },
      reading: { retryAfterMs: 60_000 },
    }],
  },
];
