/**
 * The database's library, which is native code: it is loaded by what opens a database and by
 * nothing else, since the binary must unpack it into a folder for temporary files before it can.
 */
import { messageOf } from '../log.ts';
import { EXIT, Stop } from './command.ts';

/** What the import gives. @throws Stop where the library cannot be loaded. */
export async function withLibrary<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const [line = ''] = messageOf(error).split('\n');
    const why = line.replace(/\.$/, '');
    const folder = Deno.env.get('TMPDIR') ?? 'not set';
    const wanted = 'must name a folder in which the binary may write and execute files';
    const message = `the library of the database cannot be loaded: ${why}`;
    throw new Stop(EXIT.failed, `${message}; TMPDIR (${folder}) ${wanted}`);
  }
}
