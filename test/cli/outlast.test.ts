/** A command that goes on by itself, while its server is away. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Refusal } from '../../src/cli/admin_client.ts';
import { EXIT, Stop } from '../../src/cli/command.ts';
import { outlast } from '../../src/cli/outlast.ts';

const AWAY = new Stop(EXIT.unreachable, 'http://h does not answer: refused');
let said: string;

beforeEach(() => {
  said = '';
  const write = (bytes: Uint8Array) => {
    said += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  vi.stubGlobal('Deno', { stderr: { writeSync: write } });
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('outlast', () => {
  it('asks until it is answered, a second apart, and says so once', async () => {
    const ask = vi.fn(() => Promise.resolve('answer'));
    for (let tries = 0; tries < 3; tries++) ask.mockRejectedValueOnce(AWAY);
    const answered = outlast(ask);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(ask).toHaveBeenCalledTimes(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(await answered).toBe('answer');
    expect(said).toBe(
      'nthbouncer: http://h does not answer: refused; it is asked again until it does\n',
    );
  });

  it('ends with what the server says', async () => {
    const ask = vi.fn().mockRejectedValue(new Refusal('No such pool.', 'not_found'));
    await expect(outlast(ask)).rejects.toThrow('No such pool.');
    expect(ask).toHaveBeenCalledTimes(1);
    expect(said).toBe('');
  });
});
