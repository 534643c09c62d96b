/**
 * The requests in a text as a strict reader takes them, up to the first doubt: another reading of
 * RFC 9112 than the server's, to judge that one by.
 */
export interface Asked {
  readonly method: string;
  readonly target: string;
  /** null: it does not end, or not as it should. */
  readonly body: string | null;
}

const TOKEN = "[-!#$%&'*+.^_`|~0-9A-Za-z]+";
const START = new RegExp(`^(${TOKEN}) ([!-~\\x80-\\xff]+) HTTP/1\\.([01])$`);
const FIELD = new RegExp(
  `^(${TOKEN}):[ \\t]*((?:[!-~\\x80-\\xff](?:[\\t -~\\x80-\\xff]*[!-~\\x80-\\xff])?)?)[ \\t]*$`,
);
/** Blanks behind a size are more than the RFC allows, and cannot be read in two ways. */
const SIZE = /^0*([0-9a-fA-F]{1,12})[ \t]*(?:;[\t -\xff]*)?$/;
const TRAILER = /^[\t -\xff]*$/;

export function requestsIn(text: string): Asked[] {
  const requests: Asked[] = [];
  let rest = text.replace(/^(\r\n)+/, '');
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return requests;
    const [start = '', ...fields] = rest.slice(0, end).split('\r\n');
    const [, method, target, minor] = START.exec(start) ?? [];
    const headers = headersIn(fields);
    if (method === undefined || target === undefined || headers === null) return requests;
    const all = (name: string) =>
      headers.filter(([each]) => each === name).map(([, value]) => value);
    if (minor === '1' && all('host').length === 0) return requests;
    const lengths = all('content-length').flatMap((value) => value.split(/[ \t]*,[ \t]*/));
    const codings = all('transfer-encoding').map((value) => value.toLowerCase());
    if (codings.length > 0 && (lengths.length > 0 || minor === '0')) return requests;
    if (codings.length > 0 && codings.join() !== 'chunked') return requests;
    if (lengths.some((length) => !/^[0-9]+$/.test(length) || length !== lengths[0])) {
      return requests;
    }
    rest = rest.slice(end + 4);
    const body = codings.length > 0 ? chunkedIn(rest) : counted(rest, Number(lengths[0] ?? 0));
    requests.push({ method, target, body: body?.text ?? null });
    const words = all('connection').flatMap((value) => value.toLowerCase().split(/[ \t]*,[ \t]*/));
    const isLast = minor === '1' ? words.includes('close') : !words.includes('keep-alive');
    if (body === null || isLast) return requests;
    rest = rest.slice(body.length).replace(/^(\r\n)+/, '');
  }
}

function headersIn(fields: readonly string[]): [name: string, value: string][] | null {
  const headers: [string, string][] = [];
  for (const field of fields) {
    const [, name, value] = FIELD.exec(field) ?? [];
    if (name === undefined || value === undefined) return null;
    headers.push([name.toLowerCase(), value]);
  }
  return headers;
}

function counted(rest: string, length: number) {
  return rest.length < length ? null : { text: rest.slice(0, length), length };
}

function chunkedIn(rest: string) {
  let text = '';
  for (let at = 0;;) {
    const end = rest.indexOf('\r\n', at);
    const size = end < 0 ? undefined : SIZE.exec(rest.slice(at, end))?.[1];
    if (size === undefined) return null;
    at = end + 2;
    const length = Number.parseInt(size, 16);
    if (length === 0) return trailed(rest, { at, text });
    if (rest.slice(at + length, at + length + 2) !== '\r\n') return null;
    text += rest.slice(at, at + length);
    at += length + 2;
  }
}

function trailed(rest: string, { at, text }: { at: number; text: string }) {
  for (let from = at;;) {
    const end = rest.indexOf('\r\n', from);
    if (end < 0 || !TRAILER.test(rest.slice(from, end))) return null;
    if (end === from) return { text, length: end + 2 };
    from = end + 2;
  }
}
