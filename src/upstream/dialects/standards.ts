/**
 * The rows that many share: Retry-After and its kin, the IETF drafts, and the plain families that
 * differ by nothing but their prefix. More precise headers come first; earlier families win ties.
 */
import type { Dialect } from '../dialect.ts';
import { MINUTE_MS } from '../reset.ts';
import { plain } from './forms.ts';

export const STANDARDS: readonly Dialect[] = [
  {
    name: 'retry-after',
    vendors: 'all; Slack, Notion, Spotify, Attio and Airtable send nothing else, or not even this',
    documentation: 'https://www.rfc-editor.org/rfc/rfc9110.html#name-retry-after',
    family: 'retry',
    reset: 'auto',
    names: {
      'retry-after': { field: 'retryAfter', rank: 2, unit: 'auto' },
      'x-retry-after': { field: 'retryAfter', unit: 'auto' },
      'age': { field: 'age' },
      'date': { field: 'date' },
    },
    samples: [
      { headers: { 'Retry-After': '120' }, reading: { retryAfterMs: 120_000 } },
      {
        headers: { 'Retry-After': 'Thu, 01 Jan 2026 00:00:10 GMT' },
        reading: { retryAfterMs: 10_000 },
      },
    ],
  },
  {
    name: 'retry-after-ms',
    vendors: 'OpenAI, Azure',
    documentation:
      'https://learn.microsoft.com/en-us/rest/api/cosmos-db/common-cosmosdb-rest-response-headers',
    family: 'retry',
    reset: 'ms',
    names: {
      'retry-after-ms': { field: 'retryAfter', rank: 0, unit: 'ms' },
      'x-ms-retry-after-ms': { field: 'retryAfter', rank: 1, unit: 'ms' },
    },
    samples: [{
      headers: { 'retry-after-ms': '1250.5', 'retry-after': '2' },
      reading: { retryAfterMs: 1_251 },
    }],
  },
  {
    name: 'ietf',
    vendors: 'IETF drafts 00 to 10: Cloudflare, Hugging Face, Docker Hub, SharePoint, Klaviyo, ' +
      'Persona, WHOOP; GitLab and Twitch use the names with an epoch',
    documentation: 'https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/',
    family: 'ratelimit',
    reset: 'auto',
    names: {
      ...plain('ratelimit-'),
      'ratelimit': { field: 'combined' },
    },
    samples: [
      {
        headers: { 'RateLimit-Limit': '10, 10;w=1, 50;w=60', 'RateLimit-Remaining': '1' },
        reading: {
          limit: 10,
          remaining: 1,
          windowMs: 1_000,
          windows: [{ limit: 10, windowMs: 1_000 }, { limit: 50, windowMs: MINUTE_MS }],
        },
      },
      {
        headers: {
          'RateLimit': 'limit=100, remaining=50, reset=5',
          'RateLimit-Policy': '100;w=10',
        },
        reading: { limit: 100, remaining: 50, resetMs: 5_000, windowMs: 10_000 },
      },
      {
        headers: { 'RateLimit': '"a";r=50;t=30', 'RateLimit-Policy': '"a";q=100;w=60;pk=:Yjs9:' },
        reading: { limit: 100, remaining: 50, resetMs: 30_000, windowMs: MINUTE_MS, scope: 'a' },
      },
      {
        headers: {
          'RateLimit-Limit': '60',
          'RateLimit-Remaining': '0',
          'RateLimit-Reset': '1767225630',
          'RateLimit-ResetTime': 'Thu, 01 Jan 2026 00:00:30 GMT',
        },
        reading: { limit: 60, remaining: 0, resetMs: 30_000 },
      },
      {
        headers: { 'RateLimit-Limit': '100;w=21600', 'RateLimit-Remaining': '76;w=21600' },
        reading: { limit: 100, remaining: 76, windowMs: 21_600_000 },
      },
    ],
  },
  {
    name: 'x-ratelimit',
    vendors:
      'GitHub, Reddit, OpenRouter, Together, Intercom, Smartsheet, Vimeo, Rachio, lemlist, ' +
      'PUBG, Jira, Envoy, Brave Search, SkuVault (a hint tells its ms)',
    documentation:
      'https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api',
    family: 'x-ratelimit',
    reset: 'auto',
    names: {
      ...plain('x-ratelimit-'),
      'x-ratelimit': { field: 'combined' },
    },
    samples: [
      {
        headers: {
          'X-RateLimit-Limit': '5000',
          'X-RateLimit-Remaining': '4987',
          'X-RateLimit-Reset': '1767227400',
          'X-RateLimit-Resource': 'core',
        },
        reading: { limit: 5_000, remaining: 4_987, resetMs: 1_800_000, scope: 'core' },
      },
      {
        headers: {
          'X-Ratelimit-Used': '2',
          'X-Ratelimit-Remaining': '598.0',
          'X-Ratelimit-Reset': '7',
        },
        reading: { limit: 600, remaining: 598, resetMs: 7_000 },
      },
      {
        headers: { 'X-RateLimit-Remaining': '9', 'X-RateLimit-Reset': '2000' },
        hints: { resetUnit: 'ms' },
        reading: { remaining: 9, resetMs: 2_000 },
      },
    ],
  },
  {
    name: 'discord',
    vendors: 'Discord',
    documentation: 'https://discord.com/developers/docs/topics/rate-limits',
    family: 'x-ratelimit',
    reset: 'auto',
    names: { 'x-ratelimit-global': { field: 'flag', mark: { key: '', name: 'global' } } },
    samples: [
      {
        headers: {
          'Retry-After': '65',
          'X-RateLimit-Limit': '10',
          'X-RateLimit-Remaining': '9',
          'X-RateLimit-Reset': '1767225601.5',
          'X-RateLimit-Reset-After': '0.85',
          'X-RateLimit-Scope': 'shared',
        },
        reading: {
          limit: 10,
          remaining: 9,
          resetMs: 850,
          retryAfterMs: 65_000,
          scope: 'shared',
        },
      },
      {
        headers: { 'Retry-After': '65', 'X-RateLimit-Global': 'true' },
        reading: { retryAfterMs: 65_000, scope: 'global' },
      },
    ],
  },
  {
    name: 'x-rate-limit',
    vendors:
      'X, Okta, Zendesk, Prisjakt (a hint tells its ms), servers behind tollbooth (Foldseek)',
    documentation: 'https://docs.x.com/fundamentals/rate-limits',
    family: 'x-rate-limit',
    reset: 'auto',
    names: {
      ...plain('x-rate-limit-'),
      'x-rate-limit': { field: 'combined' },
      'x-rate-limit-type': { field: 'scope' },
      'x-rate-limit-problem': { field: 'scope' },
    },
    samples: [
      {
        headers: {
          'x-rate-limit-limit': '900',
          'x-rate-limit-remaining': '847',
          'x-rate-limit-reset': '1767226112',
        },
        reading: { limit: 900, remaining: 847, resetMs: 512_000 },
      },
      {
        headers: { 'X-Rate-Limit-Limit': '1.00', 'X-Rate-Limit-Duration': '1' },
        reading: { limit: 1, windowMs: 1_000 },
      },
    ],
  },
  {
    name: 'rate-limit',
    vendors: 'Xendit',
    documentation: 'https://docs.xendit.co/docs/rate-limit',
    family: 'rate-limit',
    reset: 'auto',
    names: plain('rate-limit-'),
    samples: [{
      headers: {
        'Rate-Limit-Limit': '600',
        'Rate-Limit-Remaining': '583',
        'Rate-Limit-Reset': '58.37',
      },
      reading: { limit: 600, remaining: 583, resetMs: 58_370 },
    }],
  },
  {
    name: 'window-suffix',
    vendors: 'Kong, CoinMarketCap, TiDB Cloud; Contentful under its own prefix',
    documentation: 'https://developer.konghq.com/plugins/rate-limiting/',
    family: 'x-ratelimit',
    reset: 'auto',
    names: { 'x-ratelimit-{field}-{window}': {} },
    samples: [{
      headers: {
        'X-RateLimit-Limit-Second': '1',
        'X-RateLimit-Remaining-Second': '0',
        'X-RateLimit-Limit-Minute': '5',
        'X-RateLimit-Remaining-Minute': '4',
        'RateLimit-Limit': '1',
        'RateLimit-Remaining': '0',
        'RateLimit-Reset': '1',
      },
      reading: {
        limit: 1,
        remaining: 0,
        resetMs: 1_000,
        windowMs: 1_000,
        windows: [
          { limit: 1, remaining: 0, windowMs: 1_000 },
          { limit: 5, remaining: 4, windowMs: MINUTE_MS },
        ],
      },
    }],
  },
];
