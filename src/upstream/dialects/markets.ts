/**
 * The rows of clouds, exchanges and games, whose headers often tell only what was used, or what is
 * left; and, last, the row that reads the plain family under a prefix that nobody has named yet.
 */
import type { Cell, Dialect, Mark } from '../dialect.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../reset.ts';
import { countsRequests, readCountsByWindow, readHits, readRemainders } from './forms.ts';

export const MARKETS: readonly Dialect[] = [
  {
    name: 'rate-per-second',
    vendors: 'Amazon SP-API: a rate, which may be far below one a second',
    documentation: 'https://developer-docs.amazon.com/sp-api/docs/usage-plans-and-rate-limits',
    family: 'x-amzn-ratelimit',
    reset: 'none',
    names: {
      'x-amzn-ratelimit-limit': { field: 'limit', mark: { key: '', windowMs: SECOND_MS } },
    },
    samples: [{
      headers: { 'x-amzn-RateLimit-Limit': '0.04512' },
      reading: { limit: 0.04512, windowMs: SECOND_MS },
    }],
  },
  {
    name: 'azure-arm',
    vendors: 'Azure Resource Manager and its resource providers',
    documentation: 'https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/' +
      'request-limits-and-throttling',
    family: 'azure-arm',
    reset: 'none',
    names: {
      'x-ms-ratelimit-remaining-{name}': { mark: { key: 'remaining' }, read: readRemainders },
    },
    samples: [{
      headers: {
        'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/GetVM3Min;197',
        'x-ms-ratelimit-remaining-subscription-reads': '11999',
      },
      reading: {
        remaining: 197,
        windows: [
          { name: 'Microsoft.Compute/GetVM3Min', remaining: 197 },
          { name: 'subscription-reads', remaining: 11_999 },
        ],
      },
    }],
  },
  {
    name: 'oracle',
    vendors: 'Oracle Access Governance: ms, by its documentation',
    documentation: 'https://docs.oracle.com/en/cloud/paas/access-governance/pmapi/rate-limits.html',
    family: 'oracle',
    reset: 'ms',
    names: {
      'requestlimit-{name}-remaining': { mark: { key: 'remaining' }, read: readRemainders },
      'requestlimit-{name}-retryafter': {
        field: 'retryAfter',
        unit: 'ms',
        mark: { key: 'remaining' },
      },
    },
    samples: [{
      headers: {
        'RequestLimit-Default-Remaining': '0',
        'RequestLimit-Default-RetryAfter': '30000',
      },
      reading: { remaining: 0, retryAfterMs: 30_000 },
    }],
  },
  {
    name: 'x-24hour',
    vendors: 'X: daily budgets beside its x-rate-limit',
    documentation: 'https://docs.x.com/fundamentals/rate-limits',
    family: 'x-24hour',
    reset: 'auto',
    names: { ...perDay('app'), ...perDay('user') },
    samples: [{
      headers: {
        'x-rate-limit-limit': '900',
        'x-rate-limit-remaining': '847',
        'x-user-limit-24hour-limit': '25',
        'x-user-limit-24hour-remaining': '2',
        'x-user-limit-24hour-reset': '1767226112',
      },
      reading: {
        limit: 25,
        remaining: 2,
        resetMs: 512_000,
        windowMs: DAY_MS,
        windows: [
          { limit: 900, remaining: 847 },
          { name: 'user', limit: 25, remaining: 2, resetMs: 512_000, windowMs: DAY_MS },
        ],
      },
    }],
  },
  {
    name: 'count-by-window',
    vendors: 'Riot Games',
    documentation: 'https://developer.riotgames.com/docs/portal#web-apis_rate-limiting',
    family: 'riot',
    reset: 'none',
    names: {
      'x-app-rate-limit': { read: readCountsByWindow('app', 'limit') },
      'x-app-rate-limit-count': { read: readCountsByWindow('app', 'used') },
      'x-method-rate-limit': { read: readCountsByWindow('method', 'limit') },
      'x-method-rate-limit-count': { read: readCountsByWindow('method', 'used') },
    },
    samples: [{
      headers: {
        'X-App-Rate-Limit': '20:1,100:120',
        'X-App-Rate-Limit-Count': '101:120,1:1',
        'X-Rate-Limit-Type': 'application',
      },
      reading: {
        limit: 100,
        remaining: 0,
        windowMs: 120_000,
        scope: 'application',
        windows: [
          { name: 'app', limit: 20, remaining: 19, windowMs: SECOND_MS },
          { name: 'app', limit: 100, remaining: 0, windowMs: 120_000 },
        ],
      },
    }],
  },
  {
    name: 'hits-by-period',
    vendors: 'Path of Exile: rules of hits, period and penalty, and the state of each',
    documentation: 'https://www.pathofexile.com/developer/docs#ratelimits',
    family: 'hits-by-period',
    reset: 'none',
    names: {
      'x-rate-limit-{name}-state': { mark: { key: '' }, read: readHits('used') },
      'x-rate-limit-{name}': { mark: { key: '' }, read: readHits('limit') },
    },
    samples: [{
      headers: {
        'X-Rate-Limit-Policy': 'trade-search',
        'X-Rate-Limit-Rules': 'Ip',
        'X-Rate-Limit-Ip': '5:10:60,15:60:300',
        'X-Rate-Limit-Ip-State': '6:10:48,6:60:0',
      },
      reading: {
        limit: 5,
        remaining: 0,
        windowMs: 10_000,
        retryAfterMs: 48_000,
        scope: 'trade-search',
        windows: [
          { name: 'ip', limit: 5, remaining: 0, windowMs: 10_000 },
          { name: 'ip', limit: 15, remaining: 9, windowMs: MINUTE_MS },
        ],
      },
    }],
  },
  {
    name: 'used-weight',
    vendors: 'Binance: what was used, of limits that another call tells; 418 is a ban',
    documentation: 'https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits',
    family: 'binance',
    reset: 'none',
    names: {
      ...usedByInterval('x-mbx-used-weight-', { name: 'weight' }),
      // Orders gate orders only, not the calls that read.
      ...usedByInterval('x-mbx-order-count-', { name: 'orders', isAside: true }),
      ...usedByInterval('x-sapi-used-ip-weight-', { name: 'ip' }),
      ...usedByInterval('x-sapi-used-uid-weight-', { name: 'uid' }),
    },
    samples: [{
      headers: { 'X-MBX-USED-WEIGHT-1M': '6100', 'Retry-After': '120' },
      reading: { used: 6_100, windowMs: MINUTE_MS, retryAfterMs: 120_000 },
    }, {
      headers: { 'X-MBX-ORDER-COUNT-10S': '7', 'X-MBX-USED-WEIGHT-1M': '6100' },
      reading: {
        used: 6_100,
        windowMs: MINUTE_MS,
        windows: [
          { name: 'orders', used: 7, windowMs: 10_000 },
          { name: 'weight', used: 6_100, windowMs: MINUTE_MS },
        ],
      },
    }],
  },
  {
    name: 'bybit',
    vendors: 'Bybit: Status is what is left',
    documentation: 'https://bybit-exchange.github.io/docs/v5/rate-limit',
    family: 'bybit',
    reset: 'auto',
    names: {
      'x-bapi-limit': { field: 'limit' },
      'x-bapi-limit-status': { field: 'remaining' },
      'x-bapi-limit-reset-timestamp': { field: 'reset', unit: 'ms' },
    },
    samples: [{
      headers: {
        'X-Bapi-Limit': '100',
        'X-Bapi-Limit-Status': '99',
        'X-Bapi-Limit-Reset-Timestamp': '1767225600738',
      },
      reading: { limit: 100, remaining: 99, resetMs: 738 },
    }],
  },
  {
    name: 'gw-ratelimit',
    vendors: 'KuCoin: ms until the reset',
    documentation: 'https://www.kucoin.com/docs-new/rate-limit',
    family: 'gw-ratelimit',
    reset: 'ms',
    names: { 'gw-ratelimit-{field}': {} },
    samples: [{
      headers: {
        'gw-ratelimit-limit': '4000',
        'gw-ratelimit-remaining': '3998',
        'gw-ratelimit-reset': '28917',
      },
      reading: { limit: 4_000, remaining: 3_998, resetMs: 28_917 },
    }],
  },
  {
    name: 'ip-api',
    vendors: 'ip-api.com',
    documentation: 'https://ip-api.com/docs/api:json',
    family: 'ip-api',
    reset: 'auto',
    names: {
      'x-rl': { field: 'remaining' },
      'x-ttl': { field: 'reset', unit: 'auto' },
    },
    samples: [{
      headers: { 'X-Rl': '44', 'X-Ttl': '37' },
      reading: { remaining: 44, resetMs: 37_000 },
    }],
  },
  {
    name: 'coinglass',
    vendors: 'CoinGlass: USE-LIMIT is what was used',
    documentation: 'https://docs.coinglass.com/reference/errors-codes',
    family: 'coinglass',
    reset: 'none',
    names: {
      'api-key-max-limit': { field: 'limit' },
      'api-key-use-limit': { field: 'used' },
    },
    samples: [{
      headers: { 'API-KEY-MAX-LIMIT': '80', 'API-KEY-USE-LIMIT': '12' },
      reading: { limit: 80, remaining: 68 },
    }],
  },
  {
    name: 'any-prefix',
    vendors: 'anyone who puts a prefix of their own before the common names',
    documentation: 'https://datatracker.ietf.org/doc/draft-polli-ratelimit-headers/',
    family: 'any-prefix',
    reset: 'auto',
    names: {
      '{name}-ratelimit-{field}': { isFamilyName: true, accepts: countsRequests },
      '{name}-rate-limit-{field}': { isFamilyName: true, accepts: countsRequests },
    },
    samples: [{
      headers: {
        'X-Acme-RateLimit-Limit': '100',
        'X-Acme-RateLimit-Remaining': '7',
        'X-Acme-RateLimit-Reset': '15',
      },
      reading: { limit: 100, remaining: 7, resetMs: 15_000 },
    }],
  },
];

function perDay(name: string): Record<string, Cell> {
  return { [`x-${name}-limit-24hour-{field}`]: { mark: { key: name, name, windowMs: DAY_MS } } };
}

/** `-1M`, `-10S` and the like: the intervals that are in use. */
function usedByInterval(prefix: string, of: Omit<Mark, 'key'>): Record<string, Cell> {
  const lengths = { s: SECOND_MS, m: MINUTE_MS, h: 60 * MINUTE_MS, d: DAY_MS };
  const cells: Record<string, Cell> = {};
  for (const [letter, lengthMs] of Object.entries(lengths)) {
    for (const count of [1, 2, 3, 5, 10, 15, 30, 60]) {
      const windowMs = count * lengthMs;
      const mark = { ...of, key: `${of.name} ${windowMs}`, windowMs };
      cells[`${prefix}${count}${letter}`] = { field: 'used', mark };
    }
  }
  return cells;
}
