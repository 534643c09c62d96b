/**
 * `nthbouncer doctor`: looks at a server from outside and says what is right, what is odd and what
 * is wrong. It changes nothing.
 */
import { VERSION } from '../version.ts';
import type { Row } from './admin_client.ts';
import { AdminClient } from './admin_client.ts';
import type { Command } from './command.ts';
import { EXIT, Stop } from './command.ts';
import type { Shown } from './show.ts';
import { consoleCommand, printJson, printTable } from './show.ts';
import { shownMs } from './duration.ts';
import { fieldOf, numberOf, textOf } from './fields.ts';
import { putAside } from './gates.ts';
import { poolsNow } from './pool_commands.ts';
import { serverNowMs } from './server_time.ts';
import { serverUrl } from './server_url.ts';
import { whyUnreached } from './unreached.ts';
import { isObject } from '../json.ts';

export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'odd' | 'wrong';
  readonly detail: string;
}

export const doctorCommand: Command = {
  add: (program) => {
    consoleCommand(program, 'doctor', 'check a running server and its pools')
      .addHelpText('after', '\nExits with 1 where something is wrong.')
      .action(doctor);
  },
};

async function doctor({ json }: Shown): Promise<void> {
  const findings = await examine();
  if (json) printJson(findings);
  else {
    printTable(findings.map((finding) => ({ ...finding })), [
      ['CHECK', (row) => textOf(row, 'check')],
      ['STATE', (row) => textOf(row, 'state')],
      ['DETAIL', (row) => textOf(row, 'detail')],
    ], '');
  }
  if (findings.some(({ state }) => state === 'wrong')) Deno.exit(EXIT.failed);
}

async function examine(): Promise<Finding[]> {
  const url = serverUrl();
  const health = await open(`${url}/healthz`);
  const up = finding('server', health === 200, `${url} ${health}`);
  if (health !== 200) return [up];
  const ready = await open(`${url}/readyz`);
  const detail = ready === 200 ? 'takes writes' : `not ready (${ready})`;
  const findings = [up, finding('database', ready === 200, detail)];
  let asked = 'admin token';
  try {
    const client = new AdminClient();
    const version = await client.get('/version');
    findings.push(finding('admin token', true, 'taken'), versionFinding(version));
    findings.push(clockFinding(await serverNowMs(client)));
    asked = 'pools';
    for (const { spec, status } of await poolsNow(client)) findings.push(poolFinding(spec, status));
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    findings.push(finding(asked, false, error.message));
  }
  return findings;
}

/** The status, or why it is none of ours. */
async function open(url: string): Promise<number | string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    const body: unknown = await response.json().catch(() => null);
    const isOurs = response.status !== 200 || isObject(body) && body['ok'] === true;
    return isOurs ? response.status : `${response.status}, but not as nthbouncer answers`;
  } catch (error) {
    return `does not answer: ${whyUnreached(error)}`;
  }
}

function versionFinding(version: Row): Finding {
  const theirs = textOf(version, 'version');
  const up = shownMs(numberOf(version, 'uptimeMs') ?? 0);
  const detail = `${theirs} on ${textOf(version, 'runtime')}, up for ${up}`;
  if (theirs === VERSION) return finding('version', true, detail);
  return { check: 'version', state: 'odd', detail: `${detail}; this program is ${VERSION}` };
}

const SKEW_MS_MAX = 5_000;

function clockFinding(serverMs: number): Finding {
  const skewMs = serverMs - (performance.timeOrigin + performance.now());
  const isClose = Math.abs(skewMs) <= SKEW_MS_MAX;
  const detail = isClose ? 'agrees with this machine' : `differs by ${shownMs(Math.abs(skewMs))}`;
  return { check: 'clock', state: isClose ? 'ok' : 'odd', detail };
}

const AGE_MS_ODD = 60_000;

/** What of a pool a person would want to look at. */
export function poolFinding(spec: Row, status: Row): Finding {
  const check = `pool ${textOf(spec, 'name')}`;
  const count = (field: string) => numberOf(status, field) ?? 0;
  const odd = (detail: string): Finding => ({ check, state: 'odd', detail });
  const reason = textOf(status, 'reason');
  const refused = refusedCredentials(status);
  if (refused !== null) return odd(refused);
  if (fieldOf(status, 'paused') === true) return odd(reason);
  if (fieldOf(spec, 'access.key.required') === false) {
    return odd('anybody may call it, with no key');
  }
  const depth = numberOf(spec, 'queue.maxDepth') ?? Infinity;
  if (count('queued') > 0 && count('queued') >= depth) return odd('its queue is full');
  const waits = count('queued') > 0 && count('oldestWaitMs') > AGE_MS_ODD;
  if (waits) return odd(`somebody waits for ${shownMs(count('oldestWaitMs'))}: ${reason}`);
  return finding(check, true, `${count('inUse')} of ${count('effectiveLimit')} in use; ${reason}`);
}

/** Those whose value may be wrong: a person has to look, time does not mend it. */
function refusedCredentials(status: Row): string | null {
  const refused = putAside(status)
    .filter((row) => [401, 403].includes(numberOf(row, 'coolingFor') ?? 0))
    .map((row) => `the credential ${textOf(row, 'name')} with ${textOf(row, 'coolingFor')}`);
  if (refused.length === 0) return null;
  const asked = refused.length === 1 ? 'is its value right?' : 'are their values right?';
  return `the upstream refused ${refused.join(' and ')}; ${asked}`;
}

function finding(check: string, isRight: boolean, detail: string): Finding {
  return { check, state: isRight ? 'ok' : 'wrong', detail };
}
