/** Every command ends by itself against a server that takes connections and says nothing more. */
import { existsSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { freshFolder, start } from './process.ts';

const BOUND_MS = 60_000;
const servers: net.Server[] = [];
const sockets: net.Socket[] = [];
afterAll(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** The origin of a server that sends this much to whoever asks, and leaves the connection open. */
async function mute(sent: (head: string) => string): Promise<string> {
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (head) => void socket.write(sent(head.toString('latin1'))));
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
}

const SILENT = () => '';
const CUT = () =>
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{';
const WELL_BUT_MUTE = (head: string) =>
  /^GET \/(healthz|readyz)/.test(head)
    ? 'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"ok":true}'
    : '';

function against(url: string, words: readonly string[]) {
  const env = { NTHBOUNCER_URL: url, NTHBOUNCER_ADMIN_TOKEN: 'x'.repeat(40), NTHBOUNCER_KEY: 'k' };
  return start(words, env, { cwd: freshFolder() }).finished;
}

const CONSOLE = [
  ...['pool list', 'pool show p', 'pool create p', 'pool set p rate.rpm=1', 'pool pause p'],
  ...['pool pause p --for 1h', 'pool resume p', 'pool drain p', 'pool delete p --yes'],
  ...['key create p --name n', 'key create p --name n --expires-in 1d', 'key list p'],
  ...['key revoke p k', 'slots p', 'slots p --waiting', 'kill p r', 'log p', 'log p -f'],
  ...['log p --since 1h', 'top', 'top --json', 'explain p'],
];

// Each waits for its bound, and for nothing else.
describe.concurrent('a server that says nothing', () => {
  it.each([
    ['at all ends every command of the console', SILENT, CONSOLE],
    ['after the head of an answer ends a command', CUT, ['pool list', 'log p -f']],
  ])(
    '%s with 6, in one line',
    async (_, sent, lines) => {
      const url = await mute(sent);
      const queue = [...lines];
      const one = async () => {
        for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
          const { code, out, err } = await against(url, next.split(' '));
          expect({ code, out, err }, next).toEqual({
            code: 6,
            out: '',
            err: `nthbouncer: ${url} does not answer: nothing came in time\n`,
          });
        }
      };
      await Promise.all(Array.from({ length: 11 }, one));
    },
    120_000,
  );

  it('is wrong to doctor, from the start or from the first call with the token on', async () => {
    const [silent, well] = [await mute(SILENT), await mute(WELL_BUT_MUTE)];
    const [first, second] = await Promise.all(
      [silent, well].map((url) => against(url, ['doctor'])),
    );
    for (const [told, url] of [[first, silent], [second, well]] as const) {
      expect(told).toMatchObject({ code: 1, err: '' });
      expect(told?.out.trim().split('\n').at(-1)).toMatch(
        new RegExp(`wrong +${url} does not answer: nothing came in time$`),
      );
    }
  }, BOUND_MS);

  it('ends run with 6, with a wait and without one, and starts no command', async () => {
    const url = await mute(SILENT);
    const path = join(freshFolder(), 'started');
    const told = await Promise.all(
      [['run'], ['run', '--wait', '2s']].map((words) =>
        against(url, [...words, 'p', '--', 'touch', path])
      ),
    );
    for (const { code, out, err } of told) {
      expect({ code, out }).toEqual({ code: 6, out: '' });
      expect(err).toMatch(
        /^nthbouncer: http:\S+ does not answer: No answer came within \d+ ms\.\n$/,
      );
    }
    expect(existsSync(path)).toBe(false);
  }, 2 * BOUND_MS);
});
