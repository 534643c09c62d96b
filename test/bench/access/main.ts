/**
 * What the access policies cost: acquires per second of a pool with a key alone, and of one with
 * key, address, HMAC and JWT (a hundred callers, each with its token), measured in turn. Prints the
 * ratio, and that of the server's CPU time for an acquire, which other programs on the machine
 * disturb less. Needs wrk on the PATH. Run it from the root.
 */
import { signedHeaders } from '../../../src/access/signed_text.ts';
import { signerOf, tokenOf } from '../../access/tokens.ts';
import { inFolder, median } from '../head.ts';
import { wrk } from '../wrk.ts';
import { startServer } from '../locks/servers.ts';

const ROUNDS = 3;
const SECONDS = 3;
const CONNECTIONS = 64;
/** As many nonces as a pool may hold. */
const CALLS = 100_000;
const CALLERS = 100;
const SECRET = 'the secret of the benchmark 0123456789';
/** When the tokens end, long after any run. */
const FAR_S = 4_000_000_000;
const PATH = '/pools/bench/lock/acquire';

const signer = await signerOf('bench');
const tokens = await Promise.all(
  Array.from(
    { length: CALLERS },
    (_, i) => tokenOf(signer, { claims: { sub: `caller-${i}`, exp: FAR_S } }),
  ),
);
const ALL = {
  ip: { allow: ['127.0.0.0/8'], deny: ['10.0.0.0/8'] },
  hmac: { secrets: [SECRET], toleranceMs: 900_000 },
  jwt: { jwks: { keys: [signer.jwk] }, audience: 'app' },
};

interface Figures {
  readonly rate: number;
  /** CPU time of the server for one acquire. */
  readonly cpuUs: number;
}

const rounds: { key: Figures; all: Figures }[] = [];
for (let round = 0; round < ROUNDS; round++) {
  rounds.push({ key: await measure({}, false), all: await measure(ALL, true) });
}
const of = (pick: (round: { key: Figures; all: Figures }) => number) => median(rounds.map(pick));
const shown = (name: 'key' | 'all') =>
  `${of((round) => round[name].rate).toFixed(0)} acquires/s, ` +
  `${of((round) => round[name].cpuUs).toFixed(0)} us of CPU each`;
console.log(`${CONNECTIONS} connections`);
console.log(`key alone: ${shown('key')}`);
console.log(`key, address, HMAC and JWT: ${shown('all')}`);
const rateRatio = of(({ key, all }) => all.rate / key.rate).toFixed(2);
const cpuRatio = of(({ key, all }) => key.cpuUs / all.cpuUs).toFixed(2);
console.log(`ratio: ${rateRatio}, by CPU time ${cpuRatio} (at least 0.5 is wanted)`);

async function measure(access: object, isSigned: boolean): Promise<Figures> {
  return await inFolder(async (folder) => {
    const server = await startServer(folder, { concurrency: { limit: 1_000_000 }, access });
    try {
      const [key] = server.args;
      const args = [key, PATH];
      if (isSigned) {
        await Deno.writeTextFile(`${folder}/signed`, signedLines());
        await Deno.writeTextFile(`${folder}/callers`, callerLines());
        args.push(`${folder}/signed`, `${folder}/callers`);
      }
      const cpuBeforeUs = await cpuUsOf(server.pid);
      const how = { connections: CONNECTIONS, seconds: SECONDS };
      const script = 'test/bench/access/acquire.lua';
      const { requests, rate } = await wrk(how, script, [server.origin, '--', ...args]);
      const cpuUs = (await cpuUsOf(server.pid) - cpuBeforeUs) / requests;
      return { rate, cpuUs };
    } finally {
      await server.end();
    }
  });
}

function signedLines(): string {
  const body = new Uint8Array(0);
  return Array.from({ length: CALLS }, (_, i) => {
    const parts = { pool: 'bench', door: 'lock', method: 'POST', target: PATH, body } as const;
    const timestamp = String(Date.now());
    const headers = signedHeaders(SECRET, { ...parts, timestamp, nonce: `nonce-${i}` });
    return Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join('|');
  }).join('\n');
}

function callerLines(): string {
  return tokens.map((token) => `Authorization: Bearer ${token}`).join('\n');
}

/** User and system time of a process so far; the kernel counts in hundredths of a second. */
async function cpuUsOf(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}
