/**
 * A connection to an upstream, with what is to be known of it while it is idle.
 */
import { Connection } from '../../http1/connection.ts';
import type { Line } from '../../http1/line.ts';

export class UpstreamConnection extends Connection {
  /** Which upstream it leads to, see {@link Connections}. */
  readonly name: string;
  idleSinceMs = 0;
  /** Ms that the upstream keeps it open while idle, as far as it said. */
  idleMsMax = Infinity;

  constructor(line: Line, name: string) {
    super(line);
    this.name = name;
  }
}
