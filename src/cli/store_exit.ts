/**
 * The exit code of a command that an error of the store ends: whether time alone may put it right,
 * so that whoever supervises a server starts it again, or somebody must see to it.
 */
import type { StoreErrorKind } from '../store/store.ts';
import { EXIT, type ExitCode } from './command.ts';

const EXITS: Readonly<Record<StoreErrorKind, ExitCode>> = {
  busy: EXIT.failed,
  failed: EXIT.failed,
  lost: EXIT.owned,
  owned: EXIT.owned,
  unusable: EXIT.database,
  damaged: EXIT.database,
  foreign: EXIT.database,
  newer_schema: EXIT.database,
};

export function exitOf({ kind }: { readonly kind: StoreErrorKind }): ExitCode {
  return EXITS[kind];
}
