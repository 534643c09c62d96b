/** What `run` gives its command, and what it makes of signals; processes are tested end to end. */
import { describe, expect, it, vi } from 'vitest';
import { environment, labelOf } from '../../src/cli/run.ts';
import { serverUrl } from '../../src/cli/server_url.ts';
import { Signals } from '../../src/cli/signals.ts';

describe('environment', () => {
  it('hands on the slot and nothing else of ours', () => {
    const own = { PATH: '/bin', NTHBOUNCER_KEY: 'k', nthbouncer_admin_token: 't', NTH: 'x' };
    expect(environment(own, { slotId: 's', fence: 7 }, 'p')).toEqual({
      PATH: '/bin',
      NTH: 'x',
      NTHBOUNCER_POOL: 'p',
      NTHBOUNCER_SLOT_ID: 's',
      NTHBOUNCER_FENCE: '7',
    });
  });
});

describe('labelOf', () => {
  it('is the name of any command, as far as a label may hold it', () => {
    expect(labelOf('/opt/bin/work.sh')).toBe('work.sh');
    expect(labelOf('/opt/two\nlines')).toBe('two�lines');
    expect(labelOf(`/opt/${'é'.repeat(200)}`)).toBe('é'.repeat(128));
  });
});

describe('serverUrl', () => {
  it('is where the server is, whatever spaces stand around it', () => {
    vi.stubGlobal('Deno', { env: { get: () => ' http://127.0.0.1:8787/ \n' } });
    expect(serverUrl()).toBe('http://127.0.0.1:8787');
  });
});

describe('Signals', () => {
  function make() {
    vi.stubGlobal('Deno', { addSignalListener: () => {} });
    const sent: string[] = [];
    return { signals: new Signals(), sent, group: { signal: (name: string) => !!sent.push(name) } };
  }

  it('gives a wait up, and hands the signal on to a command that began meanwhile', () => {
    const { signals, sent, group } = make();
    signals.heard('SIGWINCH');
    expect(signals.given.aborted).toBe(false);
    signals.heard('SIGTERM');
    expect(signals.given.reason).toBe('SIGTERM');
    signals.forwardTo(group);
    expect(sent).toEqual(['SIGTERM']);
  });

  it('forwards, and kills on a second Ctrl-C alone', () => {
    const { signals, sent, group } = make();
    signals.forwardTo(group);
    for (const name of ['SIGTERM', 'SIGTERM', 'SIGUSR1', 'SIGINT', 'SIGINT'] as const) {
      signals.heard(name);
    }
    expect(sent).toEqual(['SIGTERM', 'SIGTERM', 'SIGUSR1', 'SIGINT', 'SIGKILL']);
  });
});
