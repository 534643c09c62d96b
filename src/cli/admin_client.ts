/**
 * The console's one way to a server: the admin API with the token of the environment. Whatever goes
 * wrong ends the command in one line and with the exit code that the documents name.
 */
import { EXIT, Stop } from './command.ts';
import { oneWord } from './one_word.ts';
import { serverUrl } from './server_url.ts';
import { strangerAt, whyUnreached } from './unreached.ts';

const VARIABLE = 'NTHBOUNCER_ADMIN_TOKEN';
/** No answer within this time ends the command. */
const LIMIT_MS = 10_000;

/** A JSON object of the server; fields are read with the functions of `fields.ts`. */
export type Row = Readonly<Record<string, unknown>>;

/** The server's no. */
export class Refusal extends Stop {
  /** As the errors' table has it. */
  readonly code: unknown;

  constructor(message: string, code: unknown) {
    super(EXIT.refused, message);
    this.code = code;
  }
}

export class AdminClient {
  readonly url: string;
  readonly #token: string;
  #isKnown: Promise<void> | null = null;

  /** @throws Stop where the environment has no token. */
  constructor() {
    this.url = serverUrl();
    const token = oneWord(Deno.env.get(VARIABLE), VARIABLE);
    if (token === null) throw new Stop(EXIT.usage, `${VARIABLE} is not set`);
    this.#token = token;
  }

  get(path: string): Promise<Row> {
    return this.call('GET', path);
  }

  post(path: string, body?: unknown): Promise<Row> {
    return this.call('POST', path, body);
  }

  /** Calls below `/admin/api`, of what is known to be this server. @throws Stop */
  async call(method: string, path: string, body?: unknown): Promise<Row> {
    await (this.#isKnown ??= this.#know());
    return await this.#send(method, path, body);
  }

  /** Whatever answers with any JSON would pass for a server that has nothing to tell. */
  async #know(): Promise<void> {
    const { version, schema, uptimeMs } = await this.#send('GET', '/version');
    const isOurs = typeof version === 'string' && typeof schema === 'number' &&
      typeof uptimeMs === 'number';
    if (!isOurs) throw new Stop(EXIT.unreachable, strangerAt(this.url, 200));
  }

  async #send(method: string, path: string, body?: unknown): Promise<Row> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.url}/admin/api${path}`, {
        method,
        redirect: 'manual',
        headers: { authorization: `Bearer ${this.#token}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(LIMIT_MS),
      });
      text = await response.text();
    } catch (error) {
      throw new Stop(EXIT.unreachable, `${this.url} does not answer: ${whyUnreached(error)}`);
    }
    const answer = objectOf(text);
    if (response.ok && (answer !== null || text === '')) return answer ?? {};
    if (response.status === 401) {
      throw new Stop(EXIT.refused, `${this.url} does not take the token in ${VARIABLE}`);
    }
    const message = answer?.['message'];
    if (typeof message === 'string') throw new Refusal(message, answer?.['error']);
    throw new Stop(EXIT.unreachable, strangerAt(this.url, response.status));
  }
}

/** The path of a pool, and of what is below it. */
export function poolPath(name: string, ...below: readonly string[]): string {
  return ['/pools', ...[name, ...below].map(encodeURIComponent)].join('/');
}

function objectOf(text: string): Row | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value as Row : null;
  } catch {
    return null;
  }
}
