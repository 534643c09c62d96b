/**
 * Which pool a host leads to: one at most, and none where it is this server's own.
 */
import { isLocalOrBase } from '../access/browser.ts';
import { poolOfHost } from '../pool_host.ts';
import type { PoolSpec } from '../wire.ts';

/** A host would be two pools', or is this server's own. */
export class HostTakenError extends Error {
  override name = 'HostTakenError';

  /** @param of `owner` null: the server itself. */
  constructor(host: string, of: { owner: string | null; wantedBy: string }) {
    const owner = of.owner === null ? "this server's own page and API" : `pool ${of.owner}`;
    super(`${host} is a host of ${owner}, and cannot be one of pool ${of.wantedBy} too.`);
  }
}

export function hostsOf({ upstream }: PoolSpec): readonly string[] {
  return upstream?.hosts ?? [];
}

/**
 * Whether the pools can have their hosts beside each other.
 * @param others hosts with the pools that have them already.
 * @throws HostTakenError
 */
export function checkHosts(
  specs: readonly PoolSpec[],
  { baseDomain, others = [] }: {
    baseDomain: string;
    others?: Iterable<readonly [host: string, pool: string]>;
  },
): void {
  const owners = new Map(others);
  for (const spec of specs) {
    for (const host of hostsOf(spec)) {
      const other = poolOfHost(host, baseDomain) ?? owners.get(host) ?? spec.name;
      const owner = isLocalOrBase(host, baseDomain) ? null : other;
      if (owner !== spec.name) throw new HostTakenError(host, { owner, wantedBy: spec.name });
      owners.set(host, owner);
    }
  }
}
