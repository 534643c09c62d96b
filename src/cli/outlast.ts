/**
 * What a command that goes on by itself does when its server cannot be reached any more: it says so
 * once, and asks until somebody ends it, so that a restart of the server does not end it.
 */
import { EXIT, printError, Stop } from './command.ts';

const AGAIN_MS = 1_000;

/** @throws what `ask` throws, but for a server that does not answer. */
export async function outlast<T>(ask: () => Promise<T>): Promise<T> {
  for (let isSaid = false;; isSaid = true) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Stop) || error.exit !== EXIT.unreachable) throw error;
      if (!isSaid) printError(`nthbouncer: ${error.message}; it is asked again until it does`);
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }
}
