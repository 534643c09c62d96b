/**
 * The settings of `serve`: a flag before its variable before its default, and what is refused.
 */
import { Command, CommanderError } from 'commander';
import { afterEach, describe, expect, it } from 'vitest';
import { Stop } from '../../src/cli/command.ts';
import { takeFlagsOnce } from '../../src/cli/given_once.ts';
import { addSettings, serveSettings } from '../../src/cli/settings.ts';
import { SETTINGS } from '../../src/config.ts';

type Name = keyof typeof SETTINGS;
const names = Object.keys(SETTINGS) as Name[];
const variables = Object.values(SETTINGS).map(({ environment }) => environment);

afterEach(() => {
  for (const variable of variables) delete process.env[variable];
});

/** The options of a command line, or the one line with which it was refused. */
function read(...words: string[]): Record<string, unknown> | string {
  let line = '';
  const command = addSettings(new Command('serve'), names).exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({ writeErr: (text) => line += text });
  takeFlagsOnce(command);
  try {
    return command.parse(words, { from: 'user' }).opts();
  } catch (error) {
    if (error instanceof Stop) return error.message;
    expect(error).toBeInstanceOf(CommanderError);
    expect(line.trim().split('\n')).toHaveLength(1);
    return line;
  }
}

/** A right value and, beside it, wrong ones. */
const values: Record<Name, { right: [text: string, value: unknown][]; wrong: string[] }> = {
  host: {
    right: [['0.0.0.0', '0.0.0.0'], ['::1', '::1'], ['my-host.local', 'my-host.local']],
    wrong: ['', 'a b', 'http://x', 'a/b', '[::1]', '999.1.1.1', '1:2'],
  },
  port: {
    right: [['0', 0], ['65535', 65_535], ['080', 80]],
    wrong: ['', 'seventy', '65536', '-1', '1.5', '1e3', ' 80', '0x50', '123456'],
  },
  db: {
    right: [['file:x.db', 'file:x.db'], ['libsql://h', 'libsql://h'], ['wss://h', 'wss://h']],
    wrong: [
      ...['', 'x.db', '/data/x.db', 'file:', 'postgres://h/d', 'sqlite:x', 'libsql:h'],
      ...['file://host/x.db', 'libsql://h?authToken=a%0Ab', 'file:x.db?mode=ro'],
      ...['file:x.db#y', 'file:%zz.db', 'file:x%00.db'],
    ],
  },
  baseDomain: {
    right: [['Example.com', 'example.com'], ['localhost', 'localhost'], ['a-b.c', 'a-b.c']],
    wrong: ['', '.', '.com', 'a..b', '-a', 'a-', 'a_b', 'a b', 'x'.repeat(254), 'example.com:80'],
  },
  poolListen: {
    right: [
      ['a=127.0.0.1:80', [{ pool: 'a', host: '127.0.0.1', port: 80 }]],
      ['a=[::1]:1, b-c=x:0', [
        { pool: 'a', host: '::1', port: 1 },
        { pool: 'b-c', host: 'x', port: 0 },
      ]],
    ],
    wrong: ['', 'a', 'a=b', 'A=b:1', 'a=1.2.3.256:1', 'a=b:70000', 'a=b:1,', '=b:1'],
  },
  config: { right: [['pools.json', 'pools.json']], wrong: [''] },
  trustedProxies: {
    right: [['10.0.0.0/8', ['10.0.0.0/8']], ['::1, 10.0.0.1', ['::1', '10.0.0.1']]],
    wrong: ['', 'x', '10.0.0.0/33', '10.0.0.1,,10.0.0.2', '10.0.0.0/8;::1'],
  },
  clientIpHeader: {
    right: [
      ['CF-Connecting-IP', 'cf-connecting-ip'],
      ['x-forwarded-for', 'x-forwarded-for'],
    ],
    wrong: ['', 'x-real-ip', 'forwarded'],
  },
  tlsCert: { right: [['c.pem', 'c.pem']], wrong: [''] },
  tlsKey: { right: [['k.pem', 'k.pem']], wrong: [''] },
  drainMs: {
    right: [['0', 0], ['3600000', 3_600_000]],
    wrong: ['', 'soon', '3600001', '-1', '1.5', '5s'],
  },
};

describe('the settings table', () => {
  const rows = names.map((name) => [name, SETTINGS[name]] as const);

  it.each(rows)('%s: the default is a right value', (name, setting) => {
    const options = read() as Record<string, unknown>;
    if (setting.fallback === undefined) expect(options[name]).toBe(undefined);
    else expect(options[name]).toBe(setting.schema.parse(setting.fallback));
  });

  it.each(rows)('%s: a flag wins over its variable, and that over the default', (name, setting) => {
    const flag = setting.flag.split(' ')[0] ?? '';
    const { right } = values[name];
    const [[text, value] = ['', '']] = right;
    const [other] = right.at(-1) ?? [''];
    process.env[setting.environment] = text;
    expect(read()).toMatchObject({ [name]: value });
    process.env[setting.environment] = other;
    for (const [given, wanted] of right) {
      expect(read(flag, given)).toMatchObject({ [name]: wanted });
      expect(read(`${flag}=${given}`)).toMatchObject({ [name]: wanted });
    }
  });

  it.each(rows)('%s: a flag that comes twice is refused in one line', (name, { flag }) => {
    const [word = ''] = flag.split(' ');
    const { right } = values[name];
    const [[first] = [''], [second] = ['']] = [right[0], right.at(-1)];
    const isList = name === 'poolListen' || name === 'trustedProxies';
    const line = `${word} may be given once, and came again`;
    const wanted = isList ? `${line}; its entries are separated by commas` : line;
    expect(read(word, first, `${word}=${second}`)).toBe(wanted);
    expect(read(word, first, word, first)).toBe(wanted);
  });

  it('tells a pool name that cannot be from a listener that is not whole', () => {
    const tellsName = expect.stringContaining('must name a pool by 1 to 63 of a-z');
    expect(read('--pool-listen', 'Llm=127.0.0.1:1')).toEqual(tellsName);
    expect(read('--pool-listen', 'llm=127.0.0.1')).toContain('must be POOL=HOST:PORT');
  });

  it('asks whether a file was meant where a path stands in place of a URL', () => {
    const asks = 'data/n.db came; did you mean file:data/n.db?';
    expect(read('--db', 'data/n.db')).toEqual(expect.stringContaining(asks));
    for (const text of ['secret', 'secret.db?authToken=secret', 'secret@h/n.db']) {
      expect(read('--db', text)).not.toContain('secret.');
      expect(read('--db', text)).toEqual(expect.stringContaining('what came is not shown'));
    }
  });

  it.each(rows)('%s: a wrong value ends in one line that names it', (name, setting) => {
    const flag = setting.flag.split(' ')[0] ?? '';
    for (const text of values[name].wrong) {
      const line = read(`${flag}=${text}`);
      expect(line, `${flag}=${text}`).toEqual(expect.stringContaining(flag));
      if (text === '') continue;
      process.env[setting.environment] = text;
      expect(read(), text).toEqual(expect.stringContaining(setting.environment));
      delete process.env[setting.environment];
    }
  });
});

describe('a command line', () => {
  it.each([['--no-such-flag'], ['--port'], ['word'], ['--prot', '1'], ['-p', '1'], ['--por=1']])(
    'of %s is refused',
    (...words) => expect(read(...words)).toEqual(expect.any(String)),
  );
});

describe('serveSettings', () => {
  it('wants both TLS files or neither', () => {
    expect(serveSettings({ tlsCert: 'c', tlsKey: 'k' })).toMatchObject({ tlsCert: 'c' });
    expect(serveSettings({})).toEqual({});
    for (const half of [{ tlsCert: 'c' }, { tlsKey: 'k' }]) {
      expect(() => serveSettings(half)).toThrow('--tls-cert and --tls-key go together');
    }
  });

  it('wants an address of its own for each listener', () => {
    const at = (port: number, ...ports: number[]) => ({
      host: '::1',
      port,
      poolListen: ports.map((each) => ({ pool: 'a', host: '::1', port: each })),
    });
    expect(() => serveSettings(at(0, 1, 1))).toThrow(/^--pool-listen: ::1:1 is the address of two/);
    expect(() => serveSettings(at(1, 1))).toThrow('--pool-listen: ');
    for (const settings of [at(1, 2, 3), at(0, 0, 0)]) serveSettings(settings);
  });
});
