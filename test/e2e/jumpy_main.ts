/**
 * The program with a wall clock that jumps by hours to and fro, several times a second. Timers and
 * the monotonic clock are left as they are, as they are when somebody sets a machine's clock.
 */
const RealDate = Date;
const JUMPS_MS = [0, 3_600_000, -7_200_000, 86_400_000, -600_000];
const EVERY_MS = 150;

function jumpedMs(): number {
  const step = Math.floor(performance.now() / EVERY_MS);
  return RealDate.now() + (JUMPS_MS[step % JUMPS_MS.length] ?? 0);
}

class JumpyDate extends RealDate {
  constructor(...parts: [] | [number | string | Date]) {
    super(parts.length === 0 ? jumpedMs() : parts[0] as number);
  }

  static override now(): number {
    return jumpedMs();
  }
}

Object.assign(globalThis, { Date: JumpyDate });
await import('../../src/main.ts');
