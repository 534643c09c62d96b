/**
 * One call of the lock API: sends it with the key, reads the JSON answer, and turns all that is no
 * success into an error. It never follows a redirect, which would carry the key elsewhere.
 */
import type { ErrorCode } from '../errors.ts';
import { ERRORS } from '../errors.ts';
import { onAbort } from './abort.ts';
import type { Clock } from './clock.ts';
import { BadAnswer, Refused, Unreachable } from './failure.ts';
import { plainUrl } from './plain_url.ts';

export type Key = string | (() => string | Promise<string>);

export interface TransportOptions {
  /** Where the server is, such as `http://127.0.0.1:8787`; without user, query and fragment. */
  readonly url: string | URL;
  readonly pool: string;
  /** The pool's key, or a function that gives it; absent where the pool wants none. */
  readonly key?: Key | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export interface Call {
  /** Below `/pools/{pool}/lock/`. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** No answer within this time counts as none. */
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

const GIVE_BACK_LIMIT_MS = 5_000;

export class Transport {
  readonly #base: string;
  readonly #key: Key | undefined;
  readonly #fetch: typeof fetch;
  readonly #clock: Clock;

  /** @throws TypeError */
  constructor(options: TransportOptions, clock: Clock) {
    this.#base = `${serverUrl(options.url)}/pools/${encodeURIComponent(options.pool)}/lock/`;
    this.#key = options.key;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#clock = clock;
  }

  /** @throws TypeError, Refused, Unreachable, BadAnswer, or the reason of the call's signal. */
  async post(call: Call): Promise<Answer> {
    const { signal, limitMs } = call;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const forget = onAbort(signal, () => controller.abort(signal?.reason));
    const late = new Unreachable(`No answer came within ${Math.ceil(limitMs)} ms.`);
    const cancel = this.#clock.after(limitMs, () => controller.abort(late));
    try {
      // Whoever gives the key may be as slow as any server.
      const given = typeof this.#key === 'function' ? this.#key() : this.#key;
      const key = typeof given === 'object' ? await unlessAborted(given, controller.signal) : given;
      // Whoever refuses such a header says what is in it.
      if (key !== undefined && !/^[\x21-\x7e]*$/.test(key)) {
        throw new TypeError('The key is not one word of visible ASCII characters.');
      }
      const { response, text } = await this.#send(call, { key, signal: controller.signal });
      const body = objectOf(text);
      if (response.status === 200 && body !== null) return { body, headers: response.headers };
      throw refusal(response, body);
    } finally {
      cancel();
      forget();
    }
  }

  /** Gives a slot back that nobody will use, which teaches the server nothing. */
  async giveBack(slotId: string): Promise<void> {
    const call = { path: `${slotId}/release`, body: { status: 500 }, limitMs: GIVE_BACK_LIMIT_MS };
    // Where that fails the lease ends by itself.
    await this.post(call).catch(() => {});
  }

  async #send(
    { path, headers, body }: Call,
    { key, signal }: { readonly key: string | undefined; readonly signal: AbortSignal },
  ): Promise<{ response: Response; text: string }> {
    try {
      const response = await this.#fetch(`${this.#base}${path}`, {
        method: 'POST',
        redirect: 'manual',
        signal,
        headers: {
          ...(key === undefined ? {} : { 'x-nthpool-key': key }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { response, text: await response.text() };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new Unreachable(`The server cannot be reached: ${reasonOf(error)}.`, { cause: error });
    }
  }
}

/** @throws TypeError */
function serverUrl(given: string | URL): string {
  const url = plainUrl(given);
  if (url !== null) return url;
  throw new TypeError('The url is not an http or https URL without user, query and fragment.');
}

function unlessAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    signal.addEventListener('abort', () => fail(signal.reason), { once: true });
    value.then(done, fail);
  });
}

/** What the answer to an acquire must hold. */
export interface Grant {
  readonly slotId: string;
  readonly termMs: number;
  readonly renewIntervalMs: number;
  readonly fence: number;
  readonly queuedMs: number;
  /** From the grant to the request deadline; it may be shorter than the term. */
  readonly lifeMs: number;
}

const NUMBERS = [
  'leaseDeadline',
  'requestDeadline',
  'termMs',
  'renewIntervalMs',
  'fence',
] as const;

/** @throws BadAnswer */
export function grantOf({ body, headers }: Answer): Grant {
  const { slotId } = body;
  const isWhole = NUMBERS.every((name) => typeof body[name] === 'number');
  if (typeof slotId !== 'string' || slotId === '' || !isWhole) {
    throw new BadAnswer('The answer to an acquire is no grant.');
  }
  const numbers = body as Record<(typeof NUMBERS)[number], number>;
  const { termMs, leaseDeadline, requestDeadline } = numbers;
  return {
    slotId,
    termMs,
    renewIntervalMs: numbers.renewIntervalMs,
    fence: numbers.fence,
    queuedMs: countIn(headers, 'x-nthpool-queued-ms') ?? 0,
    lifeMs: countIn(headers, 'x-nthpool-lease-ms') ?? termMs + requestDeadline - leaseDeadline,
  };
}

function refusal(
  response: Response,
  body: Answer['body'] | null,
): Refused | Unreachable | BadAnswer {
  const { status, headers } = response;
  const code = body?.['error'];
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code)) {
    // Something on the way answers for a server that is down.
    const isGateway = status === 502 || status === 503 || status === 504;
    if (isGateway) return new Unreachable(`Something on the way answered ${status}.`);
    return new BadAnswer(`The answer (status ${status}) is not one of this server.`);
  }
  const { message, reason, retryAfterMs, place } = body ?? {};
  const seconds = countIn(headers, 'retry-after');
  const hintMs = typeof retryAfterMs === 'number'
    ? retryAfterMs
    : seconds === undefined
    ? undefined
    : seconds * 1000;
  const queueDepth = countIn(headers, 'x-nthpool-queue-depth');
  return new Refused(code as ErrorCode, {
    status,
    message: typeof message === 'string' ? message : ERRORS[code as ErrorCode].sentence,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(hintMs === undefined ? {} : { retryAfterMs: hintMs }),
    ...(queueDepth === undefined ? {} : { queueDepth }),
    ...(typeof place === 'number' ? { place } : {}),
  });
}

function countIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function objectOf(text: string): Answer['body'] | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? value as Record<string, unknown> : null;
  } catch {
    return null;
  }
}

/** The innermost message, which says more than "fetch failed". */
function reasonOf(error: unknown): string {
  let message = String(error);
  for (let cause = error; cause instanceof Error; cause = cause.cause) message = cause.message;
  return message.replace(/\.$/, '');
}
