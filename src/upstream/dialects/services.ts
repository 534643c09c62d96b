/**
 * The rows of services for business: shops, mail, books, social networks. A name that tells no
 * request budget (issued credentials, calls in flight) is left out: Auth0's quotas and Twilio's
 * count of running requests are.
 */
import type { Dialect, Mark } from '../dialect.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../reset.ts';
import { plain, readAppUsage, readBusinessUsage, readNamedUses, readUsedOfLimit } from './forms.ts';

const PER_SECOND: Mark = { key: 'second', windowMs: SECOND_MS };
const PER_DAY: Mark = { key: 'day', windowMs: DAY_MS };

export const SERVICES: readonly Dialect[] = [
  {
    name: 'brevo',
    vendors: 'Brevo',
    documentation: 'https://developers.brevo.com/docs/limit-headers',
    family: 'x-sib-ratelimit',
    reset: 'auto',
    names: plain('x-sib-ratelimit-'),
    samples: [{
      headers: {
        'x-sib-ratelimit-limit': '1000',
        'x-sib-ratelimit-remaining': '999',
        'x-sib-ratelimit-reset': '1',
      },
      reading: { limit: 1_000, remaining: 999, resetMs: 1_000 },
    }],
  },
  {
    name: 'feishu',
    vendors: 'Feishu, Lark',
    documentation: 'https://open.feishu.cn/document/server-docs/api-call-guide/frequency-control',
    family: 'x-ogw-ratelimit',
    reset: 'auto',
    names: plain('x-ogw-ratelimit-'),
    samples: [{
      headers: { 'x-ogw-ratelimit-limit': '100', 'x-ogw-ratelimit-reset': '0.001' },
      reading: { limit: 100, resetMs: 1 },
    }],
  },
  {
    name: 'shopify',
    vendors: 'Shopify REST; its GraphQL puts points in the body',
    documentation: 'https://shopify.dev/docs/api/usage/limits',
    family: 'shopify',
    reset: 'none',
    names: {
      'x-shopify-shop-api-call-limit': { read: readUsedOfLimit },
      'http_x_shopify_shop_api_call_limit': { read: readUsedOfLimit },
    },
    samples: [{
      headers: { 'X-Shopify-Shop-Api-Call-Limit': '39/40', 'Retry-After': '2.0' },
      reading: { limit: 40, remaining: 1, retryAfterMs: 2_000 },
    }],
  },
  {
    name: 'salesforce',
    vendors: 'Salesforce',
    documentation: 'https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/' +
      'headers_api_usage.htm',
    family: 'salesforce',
    reset: 'none',
    names: { 'sforce-limit-info': { read: readNamedUses } },
    samples: [{
      headers: { 'Sforce-Limit-Info': 'api-usage=25/5000; per-app-api-usage=17/250(appName=a)' },
      reading: {
        limit: 250,
        remaining: 233,
        scope: 'per-app-api-usage',
        windows: [
          { name: 'api-usage', limit: 5_000, remaining: 4_975 },
          { name: 'per-app-api-usage', limit: 250, remaining: 233 },
        ],
      },
    }],
  },
  {
    name: 'hubspot',
    vendors: 'HubSpot; its Secondly pair is no longer enforced, and not read',
    documentation:
      'https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines',
    family: 'hubspot',
    reset: 'none',
    names: {
      'x-hubspot-ratelimit-max': { field: 'limit' },
      'x-hubspot-ratelimit-remaining': { field: 'remaining' },
      'x-hubspot-ratelimit-interval-milliseconds': { field: 'window', unit: 'ms' },
      'x-hubspot-ratelimit-daily': { field: 'limit', mark: PER_DAY },
      'x-hubspot-ratelimit-daily-remaining': { field: 'remaining', mark: PER_DAY },
    },
    samples: [{
      headers: {
        'X-HubSpot-RateLimit-Daily': '250000',
        'X-HubSpot-RateLimit-Daily-Remaining': '249876',
        'X-HubSpot-RateLimit-Interval-Milliseconds': '10000',
        'X-HubSpot-RateLimit-Max': '100',
        'X-HubSpot-RateLimit-Remaining': '97',
      },
      reading: {
        limit: 100,
        remaining: 97,
        windowMs: 10_000,
        windows: [
          { limit: 100, remaining: 97, windowMs: 10_000 },
          { limit: 250_000, remaining: 249_876, windowMs: DAY_MS },
        ],
      },
    }],
  },
  {
    name: 'stripe',
    vendors: 'Stripe: a reason only; one that ends in -concurrency is about calls in flight',
    documentation: 'https://docs.stripe.com/rate-limits',
    family: 'stripe',
    reset: 'none',
    names: { 'stripe-rate-limited-reason': { field: 'scope' } },
    samples: [{
      headers: { 'Stripe-Rate-Limited-Reason': 'global-concurrency' },
      reading: { scope: 'global-concurrency' },
    }],
  },
  {
    name: 'xero',
    vendors: 'Xero: what is left, of limits that only its documentation tells',
    documentation: 'https://developer.xero.com/documentation/guides/oauth2/limits/',
    family: 'xero',
    reset: 'none',
    names: {
      'x-daylimit-remaining': { field: 'remaining', mark: PER_DAY },
      'x-minlimit-remaining': {
        field: 'remaining',
        mark: { key: 'minute', windowMs: MINUTE_MS },
      },
      'x-appminlimit-remaining': {
        field: 'remaining',
        mark: { key: 'app', name: 'app', windowMs: MINUTE_MS },
      },
    },
    samples: [{
      headers: { 'X-MinLimit-Remaining': '37', 'X-AppMinLimit-Remaining': '9983' },
      reading: {
        remaining: 37,
        windowMs: MINUTE_MS,
        windows: [
          { remaining: 37, windowMs: MINUTE_MS },
          { name: 'app', remaining: 9_983, windowMs: MINUTE_MS },
        ],
      },
    }],
  },
  {
    name: 'etsy',
    vendors: 'Etsy; the misspelt name is live',
    documentation: 'https://developers.etsy.com/documentation/essentials/rate-limits',
    family: 'etsy',
    reset: 'none',
    names: {
      'x-limit-per-second': { field: 'limit', mark: PER_SECOND },
      'x-remaining-this-second': { field: 'remaining', mark: PER_SECOND },
      'x-remaining-this-secon': { field: 'remaining', mark: PER_SECOND },
      'x-limit-per-day': { field: 'limit', mark: PER_DAY },
      'x-remaining-today': { field: 'remaining', mark: PER_DAY },
    },
    samples: [{
      headers: { 'x-limit-per-second': '150', 'x-remaining-this-secon': '149' },
      reading: { limit: 150, remaining: 149, windowMs: SECOND_MS },
    }],
  },
  {
    name: 'meta',
    vendors: 'Facebook, Instagram, WhatsApp: percent in JSON, and minutes until access returns',
    documentation: 'https://developers.facebook.com/docs/graph-api/overview/rate-limiting/',
    family: 'meta',
    reset: 'none',
    names: {
      'x-app-usage': { read: readAppUsage('app') },
      'x-page-usage': { read: readAppUsage('page') },
      'x-ad-account-usage': { read: readAppUsage('ad-account') },
      'x-business-use-case-usage': { read: readBusinessUsage },
    },
    samples: [
      {
        headers: { 'X-App-Usage': '{"call_count":28,"total_time":25}' },
        reading: { windows: [{ name: 'app', usedPercent: 28 }] },
      },
      {
        headers: {
          'X-Business-Use-Case-Usage':
            '{"1":[{"type":"pages","call_count":100,"estimated_time_to_regain_access":19}]}',
        },
        reading: { remaining: 0, retryAfterMs: 1_140_000 },
      },
    ],
  },
];
