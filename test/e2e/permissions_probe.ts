/** Tries what a server must not be able to do any more; run as a process of its own. */
import { dropPermissions } from '../../src/cli/permissions.ts';

const path = Deno.args[0] ?? '';
await dropPermissions();
const attempts: [string, () => unknown][] = [
  ['write', () => Deno.writeTextFileSync(path, 'x')],
  ['run', () => new Deno.Command('true').outputSync()],
  ['read', () => Deno.readTextFileSync('package.json')],
];
for (const [name, attempt] of attempts) {
  try {
    attempt();
    console.log(`${name}: done`);
  } catch (error) {
    console.log(`${name}: ${(error as Error).name}`);
  }
}
