// Makes dist/client and dist/errors.js: what `nthbouncer/client` is to a program on Node, as plain
// JavaScript with declarations. Deno and Bun take the TypeScript as it is.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isolatedDeclarationSync, transformSync } from 'rolldown/experimental';

const root = resolve(import.meta.dirname, '..');
const names = readdirSync(join(root, 'src', 'client')).map((name) => `client/${name}`);
mkdirSync(join(root, 'dist', 'client'), { recursive: true });
for (const name of ['errors.ts', ...names]) {
  const path = join(root, 'src', name);
  const text = readFileSync(path, 'utf8');
  const code = transformSync(path, text, { typescript: { rewriteImportExtensions: 'rewrite' } });
  const types = isolatedDeclarationSync(path, text);
  const [error] = [...code.errors, ...types.errors];
  if (error !== undefined) throw new Error(`${name}: ${error.message}`);
  const target = join(root, 'dist', name);
  writeFileSync(target.replace(/ts$/, 'js'), code.code);
  const declared = types.code.replace(/(from ["'].*)\.ts(["'])/g, '$1.js$2');
  writeFileSync(target.replace(/ts$/, 'd.ts'), declared);
}
