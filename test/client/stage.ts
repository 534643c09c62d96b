/** A pool of the client against the fake server, on a manual clock and without jitter. */
import { connect } from '../../src/client/client.ts';
import { FakeServer } from './fake_server.ts';
import { ManualClock } from './manual_clock.ts';

export function make() {
  const clock = new ManualClock();
  const server = new FakeServer(clock);
  const options = { url: 'http://127.0.0.1:1/', key: 'k', fetch: server.fetch };
  const pool = connect({ ...options, pool: 'p', clock, random: () => 0 });
  const acquires = () => server.seen.filter(({ verb }) => verb === 'acquire');
  return { clock, server, pool, acquires };
}
