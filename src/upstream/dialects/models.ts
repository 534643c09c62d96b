/**
 * The rows of LLM providers. Their names say a unit, and sometimes a window; only LLM tokens fill
 * the token fields. What counts other things (images, query costs, shares of a subscription) must
 * not be given a name here that would fill a request or token field.
 */
import type { Cell, Dialect, Mark } from '../dialect.ts';

/** A limit that refills bit by bit: its reset is when all of it is left again. */
const BUCKET: Mark = { key: '', refills: true };

/** A kind of token with a limit of its own, of which the sum is not told. */
function tokenKind(name: string): Cell {
  const key = `tokens ${name}`;
  return { mark: { ...BUCKET, key, name, unit: 'tokens', isStandby: true } };
}

const TOKENS: Cell = { mark: { key: '', unit: 'tokens' } };

export const MODELS: readonly Dialect[] = [
  {
    name: 'openai',
    vendors: 'OpenAI, Azure OpenAI, Groq; xAI and DigitalOcean with an epoch',
    documentation: 'https://platform.openai.com/docs/guides/rate-limits',
    family: 'x-ratelimit',
    reset: 'auto',
    names: { 'x-ratelimit-{field}-{unit}': { mark: BUCKET } },
    samples: [
      {
        headers: {
          'x-ratelimit-limit-requests': '14400',
          'x-ratelimit-remaining-requests': '14370',
          'x-ratelimit-reset-requests': '2m59.56s',
          'x-ratelimit-limit-tokens': '18000',
          'x-ratelimit-remaining-tokens': '17997',
          'x-ratelimit-reset-tokens': '17ms',
        },
        reading: {
          limit: 14_400,
          remaining: 14_370,
          resetMs: 179_560,
          refills: true,
          tokenLimit: 18_000,
          tokenRemaining: 17_997,
          tokenResetMs: 17,
          tokenRefills: true,
        },
      },
      {
        headers: {
          'x-ratelimit-remaining-requests': '479',
          'x-ratelimit-reset-requests': '1767225660',
          'x-ratelimit-limit-tokens': '-1',
          'x-ratelimit-remaining-tokens': '-1',
          'x-ratelimit-reset-tokens': '0',
        },
        reading: { remaining: 479, resetMs: 60_000, refills: true },
      },
    ],
  },
  {
    name: 'openai-windows',
    vendors: 'Cerebras, Mistral, DigitalOcean',
    documentation: 'https://inference-docs.cerebras.ai/support/rate-limits',
    family: 'x-ratelimit',
    reset: 'auto',
    names: {
      'x-ratelimit-{field}-{unit}-{window}': {},
      'x-ratelimit-{field}-{unit}-per-{window}': {},
    },
    samples: [{
      headers: {
        'x-ratelimit-limit-req-minute': '60',
        'x-ratelimit-remaining-req-minute': '59',
        'x-ratelimit-limit-tokens-per-minute': '60000',
        'x-ratelimit-remaining-tokens-per-minute': '41000',
        'x-ratelimit-reset-tokens-per-minute': '18.75',
        'x-ratelimit-limit-tokens-month': '1000000',
        'x-ratelimit-remaining-tokens-month': '12000',
      },
      reading: {
        limit: 60,
        remaining: 59,
        windowMs: 60_000,
        tokenLimit: 1_000_000,
        tokenRemaining: 12_000,
        windows: [
          { unit: 'requests', limit: 60, remaining: 59, windowMs: 60_000 },
          { unit: 'tokens', limit: 60_000, remaining: 41_000, resetMs: 18_750, windowMs: 60_000 },
          { unit: 'tokens', limit: 1_000_000, remaining: 12_000 },
        ],
      },
    }],
  },
  {
    name: 'fireworks',
    vendors: 'Fireworks AI',
    documentation: 'https://docs.fireworks.ai/serverless/rate-limits',
    family: 'x-ratelimit',
    reset: 'auto',
    names: {
      'x-ratelimit-{field}-tokens-prompt': tokenKind('prompt'),
      'x-ratelimit-{field}-tokens-cached-prompt': tokenKind('cached-prompt'),
      'x-ratelimit-{field}-tokens-uncached-prompt': tokenKind('uncached-prompt'),
      'x-ratelimit-{field}-tokens-generated': tokenKind('generated'),
    },
    samples: [{
      headers: {
        'X-Ratelimit-Limit-Tokens-Prompt': '3600000',
        'X-Ratelimit-Limit-Tokens-Generated': '36000',
      },
      reading: {
        windows: [
          { name: 'prompt', unit: 'tokens', limit: 3_600_000 },
          { name: 'generated', unit: 'tokens', limit: 36_000 },
        ],
      },
    }],
  },
  {
    name: 'tokenlimit',
    vendors: 'Together',
    documentation: 'https://docs.together.ai/docs/rate-limits',
    family: 'x-tokenlimit',
    reset: 'auto',
    names: { 'x-tokenlimit-{field}': TOKENS },
    samples: [{
      headers: { 'x-tokenlimit-limit': '3000', 'x-tokenlimit-remaining': '2980' },
      reading: { tokenLimit: 3_000, tokenRemaining: 2_980 },
    }],
  },
  {
    name: 'ratelimitbysize',
    vendors: 'Mistral until 2024; its ratelimit-limit beside it counts requests',
    documentation: 'https://docs.mistral.ai/deployment/laplateforme/tier/',
    family: 'ratelimitbysize',
    reset: 'auto',
    names: { 'ratelimitbysize-{field}': TOKENS },
    samples: [{
      headers: {
        'ratelimitbysize-limit': '500000',
        'ratelimitbysize-remaining': '499979',
        'ratelimitbysize-reset': '31',
        'ratelimitbysize-query-cost': '21',
      },
      reading: { tokenLimit: 500_000, tokenRemaining: 499_979, tokenResetMs: 31_000 },
    }],
  },
  {
    name: 'anthropic',
    vendors: 'Anthropic',
    documentation: 'https://docs.claude.com/en/api/rate-limits',
    family: 'anthropic',
    reset: 'auto',
    names: {
      'anthropic-ratelimit-{unit}-{field}': { mark: BUCKET },
      'anthropic-ratelimit-input-tokens-{field}': tokenKind('input'),
      'anthropic-ratelimit-output-tokens-{field}': tokenKind('output'),
    },
    samples: [{
      headers: {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '12',
        'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:46Z',
        'anthropic-ratelimit-input-tokens-limit': '30000',
        'anthropic-ratelimit-input-tokens-remaining': '29000',
        'anthropic-ratelimit-output-tokens-limit': '8000',
        'anthropic-ratelimit-output-tokens-remaining': '400',
        'anthropic-ratelimit-output-tokens-reset': '2026-01-01T00:00:57Z',
      },
      reading: {
        limit: 50,
        remaining: 12,
        resetMs: 46_000,
        refills: true,
        tokenLimit: 8_000,
        tokenRemaining: 400,
        tokenResetMs: 57_000,
        tokenRefills: true,
        windows: [
          { name: 'input', unit: 'tokens', limit: 30_000, remaining: 29_000 },
          { name: 'output', unit: 'tokens', limit: 8_000, remaining: 400, resetMs: 57_000 },
        ],
      },
    }],
  },
  {
    name: 'anthropic-unified',
    vendors: 'Anthropic subscriptions: shares of unknown limits, of which only the reset is told',
    documentation: 'https://docs.claude.com/en/api/rate-limits',
    family: 'anthropic-unified',
    reset: 'auto',
    names: {
      'anthropic-ratelimit-unified-reset': { field: 'reset' },
      'anthropic-ratelimit-unified-5h-reset': { field: 'resetTime' },
      'anthropic-ratelimit-unified-7d-reset': { field: 'resetTime' },
      'anthropic-ratelimit-unified-representative-claim': { field: 'scope' },
    },
    samples: [{
      headers: {
        'anthropic-ratelimit-unified-status': 'allowed',
        'anthropic-ratelimit-unified-reset': '1767232800',
        'anthropic-ratelimit-unified-7d-reset': '1767736800',
        'anthropic-ratelimit-unified-representative-claim': 'five_hour',
      },
      reading: { resetMs: 7_200_000, scope: 'five_hour' },
    }],
  },
  {
    name: 'codex',
    vendors: 'OpenAI Codex backend: percent of limits that are not told',
    documentation: 'https://developers.openai.com/codex/pricing',
    family: 'codex',
    reset: 'auto',
    names: {
      ...codexWindow('primary'),
      ...codexWindow('secondary'),
    },
    samples: [{
      headers: {
        'x-codex-primary-used-percent': '12.5',
        'x-codex-primary-window-minutes': '300',
        'x-codex-primary-reset-after-seconds': '600',
      },
      reading: {
        windows: [
          { name: 'primary', usedPercent: 12.5, resetMs: 600_000, windowMs: 18_000_000 },
        ],
      },
    }],
  },
  {
    name: 'cohere',
    vendors: 'Cohere trial keys; the monthly limit is told without what is left, and not read',
    documentation: 'https://docs.cohere.com/docs/rate-limits',
    family: 'cohere',
    reset: 'none',
    names: { 'x-trial-endpoint-call-{field}': {} },
    samples: [{
      headers: {
        'x-endpoint-monthly-call-limit': '1000',
        'x-trial-endpoint-call-limit': '20',
        'x-trial-endpoint-call-remaining': '19',
      },
      reading: { limit: 20, remaining: 19 },
    }],
  },
  {
    name: 'litellm',
    vendors: 'LiteLLM: the headers of the provider behind it, under a prefix',
    documentation: 'https://docs.litellm.ai/docs/proxy/response_headers',
    family: 'litellm',
    reset: 'auto',
    names: {},
    relayPrefix: 'llm_provider-',
    samples: [{
      headers: {
        'llm_provider-x-ratelimit-limit-requests': '480',
        'llm_provider-x-ratelimit-remaining-requests': '479',
        'llm_provider-retry-after': '3',
      },
      reading: { limit: 480, remaining: 479, retryAfterMs: 3_000 },
    }],
  },
];

function codexWindow(name: string): Record<string, Cell> {
  const mark = { key: name, name };
  return {
    [`x-codex-${name}-used-percent`]: { field: 'usedPercent', mark },
    [`x-codex-${name}-window-minutes`]: { field: 'window', unit: 'min', mark },
    [`x-codex-${name}-reset-after-seconds`]: { field: 'resetAfter', unit: 'auto', mark },
    [`x-codex-${name}-reset-at`]: { field: 'reset', unit: 'auto', mark },
  };
}
