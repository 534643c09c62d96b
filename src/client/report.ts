/**
 * The outcome that a release tells, gathered from the answers of the upstream as the holder sees
 * them. It keeps what the server can learn from (the last status, how many 429s, the headers about
 * rates) and nothing else: no body, no other header.
 */
export interface Report {
  /** The final status of the upstream, 100 to 599. */
  readonly status?: number;
  /** How many 429s were seen on the way. */
  readonly throttled?: number;
  readonly retryAfterMs?: number;
  /** Rate fields that the caller parsed itself; they win over `headers`. */
  readonly rate?: Readonly<Record<string, number>>;
  /** Raw headers of the upstream's answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** LLM tokens really used. */
  readonly tokens?: number;
}

const OF_INTEREST = new RegExp(
  'limit|retry|reset|remaining|quota|throttl|usage|credit|bucket|used|ban|complex|window|' +
    'concurr|-rl|ttl',
);
const HEADERS_MAX = 64;
const VALUE_LENGTH_MAX = 8 * 1024;

/** What one answer of the upstream tells. */
export function reportOf(response: Pick<Response, 'status' | 'headers'>): Report {
  const { status } = response;
  const headers = [...response.headers].filter(([name, value]) =>
    isOfInterest(name) && value.length <= VALUE_LENGTH_MAX
  ).slice(0, HEADERS_MAX);
  return {
    // An opaque answer has status 0.
    ...(status >= 100 && status <= 599 ? { status } : {}),
    ...(status === 429 ? { throttled: 1 } : {}),
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
  };
}

/**
 * Two reports as one: counts add up, of the rest the later one stands. A field that is undefined
 * says nothing.
 */
export function merged(earlier: Report, told: Report): Report {
  const said = Object.entries(told).filter(([, value]) => value !== undefined);
  const later: Report = Object.fromEntries(said);
  const throttled = (earlier.throttled ?? 0) + (later.throttled ?? 0);
  const counts = {
    ...(throttled === 0 ? {} : { throttled }),
    ...(earlier.tokens === undefined && later.tokens === undefined
      ? {}
      : { tokens: (earlier.tokens ?? 0) + (later.tokens ?? 0) }),
  };
  // Headers and hints of an earlier answer mean nothing beside those of a later one.
  const { headers: _, retryAfterMs: __, rate: ___, ...kept } = earlier;
  const isAnswer = later.status !== undefined || later.headers !== undefined;
  return { ...(isAnswer ? kept : earlier), ...later, ...counts };
}

function isOfInterest(name: string): boolean {
  return OF_INTEREST.test(name) || name === 'date' || name === 'age';
}
