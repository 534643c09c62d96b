/**
 * The rules of the house that a machine can hold: sizes, the direction of imports, and the one home
 * of each dependency and each piece of the outside world.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const FILE_LINES_MAX = 300;
const FUNCTION_LINES_MAX = 70;
const LINE_LENGTH_MAX = 100;

interface Source {
  readonly path: string;
  readonly lines: readonly string[];
  readonly text: string;
}

const files = ['src', 'db', 'test'].flatMap((folder) => sourcesIn(folder));
const shipped = files.filter(({ path }) => path.startsWith('src/'));

function sourcesIn(folder: string): Source[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => {
      const path = join(folder, name).replaceAll('\\', '/');
      const text = readFileSync(path, 'utf8');
      return { path, text, lines: text.split('\n') };
    });
}

/** The sources without comments, where a word may stand that the code must not use. */
function codeOf({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
}

function offenders(sources: readonly Source[], pattern: RegExp, homes: RegExp): string[] {
  return sources.filter((file) => !homes.test(file.path) && pattern.test(codeOf(file)))
    .map(({ path }) => path);
}

function importsOf(file: Source): string[] {
  const found = [...file.text.matchAll(/(?:from|import) '([^']+)'/g)];
  return found.map((match) => match[1] ?? '');
}

/** Where a relative import leads, from the root of the project. */
function resolved(file: Source, target: string): string {
  return join(file.path, '..', target).replaceAll('\\', '/');
}

describe('sizes', () => {
  it.each(files.map((file) => [file.path, file] as const))('%s keeps them', (_, file) => {
    expect(file.lines.length - 1, 'lines').toBeLessThanOrEqual(FILE_LINES_MAX);
    const long = file.lines.filter((line) => line.length > LINE_LENGTH_MAX);
    expect(long.filter((line) => !line.includes('http')), 'long lines').toEqual([]);
    expect(longFunctions(file)).toEqual([]);
  });

  function longFunctions({ path, lines }: Source): string[] {
    const long: string[] = [];
    if (path.endsWith('.test.ts')) return long;
    const words = String.raw`(?:(?:export|default|async|static|get|override) )*`;
    const name = String.raw`(?:function\b[^(]*|[*#\w]+)`;
    const oneLine = new RegExp(String.raw`^(\s*)${words}${name}\(.*\)(?:: .+)? \{$`);
    const manyLines = new RegExp(String.raw`^(\s*)${words}${name}\($`);
    lines.forEach((line, index) => {
      const indent = oneLine.exec(line)?.[1] ?? manyLines.exec(line)?.[1];
      if (indent === undefined || /^\s*(if|for|while|switch) /.test(line)) return;
      const end = lines.findIndex((other, at) => at > index && other === `${indent}}`);
      if (end - index + 1 > FUNCTION_LINES_MAX) long.push(`${path}:${index + 1}`);
    });
    return long;
  }
});

describe('every source', () => {
  it('opens with what it owns', () => {
    const silent = [...shipped, ...sourcesIn('db')].filter(({ text }) => !text.startsWith('/**'));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });
});

describe('imports', () => {
  const may: readonly [folder: RegExp, allowed: RegExp][] = [
    [/^src\/core\//, /^src\/(core\/|ceilings\.ts)/],
    [/^src\/scheduler\//, /^src\/(core|scheduler|store|access)\/|^src\/[^/]+\.ts$/],
    [/^src\/store\//, /^src\/(store|core)\/|^src\/[^/]+\.ts$|^db\//],
    [/^src\/http1\//, /^src\/http1\/|^src\/[^/]+\.ts$/],
    [/^src\/upstream\//, /^src\/(upstream|core|http1)\/|^src\/[^/]+\.ts$/],
    [/^src\/access\//, /^src\/(access|core|store)\/|^src\/[^/]+\.ts$/],
    [
      /^src\/http\//,
      /^src\/(core|scheduler|store|upstream|access|http1?|admin)\/|^src\/[^/]+\.ts$/,
    ],
    [/^src\/admin\//, /^src\/admin\/|^src\/[^/]+\.ts$/],
    [/^src\/client\//, /^src\/client\/|^src\/(wire|errors)\.ts$/],
    [/^src\/[^/]+\.ts$/, /^src\/[^/]+\.ts$|^package\.json$|^db\/migrations\//],
  ];

  it('go only in the allowed direction', () => {
    const wrong = shipped.filter(({ path }) => path !== 'src/main.ts').flatMap((file) => {
      const [, allowed] = may.find(([folder]) => folder.test(file.path)) ?? [];
      if (allowed === undefined) return [];
      return importsOf(file).filter((target) => target.startsWith('.'))
        .map((target) => resolved(file, target))
        .filter((target) => !allowed.test(target))
        .map((target) => `${file.path} -> ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  it('lead in no circle', () => {
    const left = new Map(shipped.map((file) => {
      const near = importsOf(file).filter((target) => target.startsWith('.'));
      return [file.path, near.map((target) => resolved(file, target))];
    }));
    for (let before = Infinity; left.size < before;) {
      before = left.size;
      for (const [path, targets] of left) {
        if (!targets.some((target) => left.has(target))) left.delete(path);
      }
    }
    expect([...left.keys()]).toEqual([]);
  });

  const homes: readonly [dependency: RegExp, home: RegExp][] = [
    [/^hono/, /^src\/(http|admin)\//],
    [
      /^zod$/,
      /^src\/(wire|wire_access|wire_upstream|wire_words|config|answers)\.ts|^src\/http\/(openapi|api_doc|admin_body)\.ts|^src\/cli\/pool_file\.ts/,
    ],
    [/^prom-client$/, /^src\/http\/metrics\.ts/],
    [/^jose$/, /^src\/access\//],
    [/^(drizzle-orm|@libsql|libsql(\/|$))/, /^src\/store\/libsql|^db\//],
    [/^commander$/, /^src\/(cli\/|main\.ts)/],
    [/^@logtape/, /^src\/log\.ts/],
    [/^(vitest|fast-check)/, /^$/],
  ];

  it('of a package stand in its home alone', () => {
    const astray = shipped.flatMap((file) =>
      importsOf(file).filter((target) =>
        homes.some(([dependency, home]) => dependency.test(target) && !home.test(file.path))
      ).map((target) => `${file.path} -> ${target}`)
    );
    expect(astray).toEqual([]);
  });
});

describe('the outside world', () => {
  it('is asked for by name in one place each', () => {
    expect(offenders(shipped, /\bDeno\./, /^src\/(main\.ts|cli\/)/), 'Deno').toEqual([]);
    expect(offenders(shipped, /\bDate\.now\b|new Date\(\)/, /^src\/scheduler\/clock\.ts/), 'time')
      .toEqual([]);
    const timers = /\b(setTimeout|setInterval|setImmediate)\(/;
    // The page shows an example that has one.
    const timerHomes =
      /^src\/(scheduler|client|cli|http1)\/|^src\/upstream\/forward|^src\/admin\/examples\.tsx/;
    expect(offenders(shipped, timers, timerHomes), 'timers').toEqual([]);
    expect(offenders(shipped, /\bconsole\./, /^src\/log\.ts/), 'console').toEqual([]);
    expect(offenders(shipped, /\bMath\.random\b/, /^$/), 'Math.random').toEqual([]);
    const randomness = /\b(getRandomValues|randomUUID|randomBytes)\b/;
    const core = shipped.filter(({ path }) => path.startsWith('src/core/'));
    expect(offenders(core, randomness, /^$/), 'randomness in core').toEqual([]);
  });
});
