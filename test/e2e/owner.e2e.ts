/** What root changes while a service of another user is stopped is that user's still. */
import { chownSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolder, start } from './process.ts';

const SERVICE = { uid: 65_534, gid: 65_533 };
const KEY = 'the next master key of this test: 0123456789';

/** The files that are not the service's. */
function others(folder: string): string[] {
  return readdirSync(folder).filter((name) => {
    const { uid, gid } = statSync(join(folder, name));
    return uid !== SERVICE.uid || gid !== SERVICE.gid;
  });
}

test.runIf(process.getuid?.() === 0)(
  'the files of a service stay its own when root resets its token, rekeys and restores',
  async () => {
    const folder = freshFolder();
    const db = ['--db', `file:${folder}/n.db`];
    const server = start(['serve', '--port', '0', ...db]);
    await server.listening();
    await server.stop();
    const backup = join(freshFolder(), 'backup.db');
    expect((await start(['backup', backup, ...db]).finished).code).toBe(0);
    for (const name of ['.', ...readdirSync(folder)]) {
      chownSync(join(folder, name), SERVICE.uid, SERVICE.gid);
    }
    const commands: readonly [words: string[], env?: Record<string, string>][] = [
      [['admin-token', '--reset']],
      [['rekey']],
      [['rekey'], { NTHBOUNCER_NEW_MASTER_KEY: KEY }],
      [['restore', backup]],
      [['backup', join(freshFolder(), 'backup.db')]],
    ];
    for (const [words, env] of commands) {
      expect(await start([...words, ...db], env).finished).toMatchObject({ code: 0, err: '' });
      expect(others(folder)).toEqual([]);
    }
    // Where nothing was, it is the folder's.
    const fresh = freshFolder();
    chownSync(fresh, SERVICE.uid, SERVICE.gid);
    const restored = start(['restore', backup, '--db', `file:${fresh}/n.db`]);
    expect(await restored.finished).toMatchObject({ code: 0, err: '' });
    expect(readdirSync(fresh).sort()).toEqual(['n.db', 'n.db-lock']);
    expect(others(fresh)).toEqual([]);
  },
  60_000,
);
