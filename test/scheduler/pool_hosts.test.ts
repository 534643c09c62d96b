import { expect, it } from 'vitest';
import { checkHosts } from '../../src/scheduler/pool_hosts.ts';
import { PoolSpec } from '../../src/wire.ts';

const pool = (name: string, ...hosts: string[]) =>
  PoolSpec.parse({ name, upstream: { url: 'https://up.example', hosts } });

it("takes no host that is another pool's by its name, be there such a pool or not", () => {
  const baseDomain = 'base.example';
  for (const owner of ['known', 'later']) {
    const host = `${owner}.base.example`;
    const specs = [pool('known'), pool('a', host)];
    expect(() => checkHosts(specs, { baseDomain })).toThrow(
      `${host} is a host of pool ${owner}, and cannot be one of pool a too.`,
    );
  }
  const own = pool('a', 'a.base.example', 'known.example', 'x.known.base.example');
  checkHosts([pool('known'), own], { baseDomain });
});
