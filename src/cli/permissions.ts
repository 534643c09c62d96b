/**
 * What the server gives back once it runs: from then on it starts no program, loads no native code
 * and writes no file through the runtime. The database's own writes go through its driver, which is
 * loaded by then.
 */
const NEEDED_NO_MORE = ['run', 'ffi', 'write'] as const;

export async function dropPermissions(): Promise<void> {
  for (const name of NEEDED_NO_MORE) await Deno.permissions.revoke({ name });
}
