/**
 * Faults that the simulator must find, each as edits of the shipped source. They are made in a copy
 * of the tree alone; an edit whose text does not stand exactly once in its file is an error, so
 * that a fault cannot silently stop being planted.
 */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Fault {
  readonly name: string;
  readonly edits: readonly Edit[];
}

/** Each must be found within so many seeds, from 1 on. */
export const SEEDS = 150;

const MOVES = 'src/core/moves.ts';
const POOL = 'src/core/pool.ts';
const TELLER = 'src/scheduler/teller.ts';
const BOUNCER = 'src/core/bouncer.ts';

export const FAULTS: readonly Fault[] = [
  {
    name: 'reply before flush',
    edits: [{
      file: TELLER,
      find: 'if (!await this.#journal.covers(lease)) {',
      replace: 'void this.#journal.covers(lease);\n    if (lease.fence < 0) {',
    }],
  },
  {
    name: 'a repeat does not count as there',
    edits: [{
      file: 'src/scheduler/repeats.ts',
      find: '    this.#here++;\n    return this.#listen(presence);',
      replace: '    void presence;\n    return () => {};',
    }],
  },
  {
    name: 'a grant is told before it is known whether it stays',
    edits: [{
      file: TELLER,
      find: 'const { isGone } = presence;',
      replace: 'const isGone = false;\n' +
        'void pause(this.#clock, 0).then(() => presence.isGone && this.#giveBack(lease));',
    }],
  },
  {
    name: 'a lease that ended while it was written down is told',
    edits: [{
      file: TELLER,
      find: '!isGone && isHeld(lease, this.#clock.nowMs())',
      replace: '!isGone',
    }],
  },
  {
    // Kept by grants and ends, and forgotten by the start: the classic way in which they part.
    name: 'counter instead of sum',
    edits: [
      {
        file: POOL,
        find: 'let sum = this.#leases.size;',
        replace: 'return this.counter;\n    let sum = this.#leases.size;',
      },
      {
        file: POOL,
        find: '  pause: Pause | null = null;',
        replace: '  pause: Pause | null = null;\n  counter = 0;',
      },
      {
        file: POOL,
        find: '      lease.isLive = false;',
        replace: '      lease.isLive = false;\n' +
          '      this.counter = Math.max(0, this.counter - lease.slots);',
      },
      {
        file: MOVES,
        find: "    pool.move(lease, 'held');",
        replace: "    pool.move(lease, 'held');\n    pool.counter += lease.slots;",
      },
    ],
  },
  {
    // Taken out of the line when anything came free, whether or not it fits.
    name: 'waiter woken but not admitted',
    edits: [{
      file: MOVES,
      find: '      if (!pool.fits(head.ask.slots)) break;\n      this.leave(pool, head);',
      replace: '      if (!pool.fits(1)) break;\n      this.leave(pool, head);\n' +
        '      if (!pool.fits(head.ask.slots)) break;',
    }],
  },
  {
    name: 'a lost wake-up on withdraw',
    edits: [{
      file: BOUNCER,
      find: '    this.#moves.leave(pool, waiter);\n    this.#moves.admit(pool, nowMs);',
      replace: '    this.#moves.leave(pool, waiter);',
    }],
  },
  {
    name: 'release by count instead of by id',
    edits: [{
      file: BOUNCER,
      find: 'const lease = pool.leases.get(end.slotId);',
      replace: 'const lease = pool.leases.get(end.slotId) ?? [...pool.leases.values()][0];',
    }],
  },
  {
    name: 'no grace after down time',
    edits: [{
      file: 'src/scheduler/rows.ts',
      find: 'dueAtMs: Math.min(nowMs + row.termMs, requestDeadlineMs),',
      replace: 'dueAtMs: Math.min(row.grantedAt + row.termMs, requestDeadlineMs),',
    }],
  },
  {
    name: 'wall clock instead of monotonic',
    edits: [{
      file: 'src/scheduler/clock.ts',
      find: 'return Math.floor(this.#originMs + performance.now());',
      replace: 'return Date.now();',
    }],
  },
  {
    name: 'a fail-fast call overtakes who waits',
    edits: [{
      file: 'src/core/admission.ts',
      find: 'ahead === 0 && pool.fits(ask.slots)',
      replace: 'pool.fits(ask.slots)',
    }],
  },
  {
    name: 'a raised limit wakes nobody',
    edits: [{
      file: BOUNCER,
      find: '    this.#moves.refuseTooWide(nowMs, pool);\n    this.#moves.admit(pool, nowMs);',
      replace: '    this.#moves.refuseTooWide(nowMs, pool);',
    }],
  },
  {
    name: 'a pause that is over hides when a gate opens',
    edits: [{
      file: MOVES,
      find: 'dueAtMs = Math.min(dueAtMs, later(pool.pause.untilMs, nowMs));',
      replace: 'dueAtMs = Math.min(dueAtMs, pool.pause.untilMs);',
    }, {
      file: MOVES,
      find: 'this.due.set(pool, dueAtMs);',
      replace: 'this.due.set(pool, dueAtMs > nowMs ? dueAtMs : Infinity);',
    }],
  },
  {
    name: 'the end of a budget wakes nobody',
    edits: [{
      file: MOVES,
      find: "cause: { kind: 'timed_out' } });\n    this.admit(pool, nowMs);",
      replace: "cause: { kind: 'timed_out' } });",
    }],
  },
  {
    name: 'a failing store holds up proxied callers behind a lock caller',
    edits: [{
      file: 'src/core/moves.ts',
      find: 'if (!this.frozen.has(waiter.ask.door)) return waiter;',
      replace: 'return this.frozen.has(waiter.ask.door) ? null : waiter;',
    }],
  },
  {
    name: 'a store that is back wakes nobody',
    edits: [{
      file: BOUNCER,
      find: 'for (const pool of this.#pools.values()) this.#moves.admit(pool, nowMs);',
      replace: 'void nowMs;',
    }],
  },
  {
    name: 'a drain that lets proxied callers in',
    edits: [{
      file: 'src/scheduler/scheduler.ts',
      find: 'this.#bouncer.freeze(DOORS);',
      replace: 'this.#bouncer.freeze(DOORS.slice(0, 1));',
    }, {
      file: 'src/scheduler/scheduler.ts',
      find: 'this.#waiters.told(why).reverse()',
      replace: 'this.#waiters.told(why)',
    }],
  },
  {
    name: 'a failed flush keeps its grants',
    edits: [{
      file: 'src/scheduler/scheduler.ts',
      find: "if (pool !== undefined) this.release(pool, lease.slotId, { kind: 'unsent' });",
      replace: 'void pool;',
    }],
  },
  {
    name: 'a row outlives its lease that ended during the flush',
    edits: [{
      file: 'src/scheduler/journal.ts',
      find: 'lease.isStored = true;',
      replace: '',
    }, {
      file: 'src/scheduler/journal.ts',
      find: 'this.#busySinceMs = -1;\n    this.#state',
      replace: 'for (const lease of dirty) lease.isStored = lease.isLive;\n    this.#state',
    }],
  },
  {
    name: 'a wall clock that jumped is not followed in the rows',
    edits: [{
      file: 'src/scheduler/housekeeping.ts',
      find: 'this.#scheduler.restamp();',
      replace: '',
    }],
  },
  {
    name: 'fences start anew with the process',
    edits: [{
      file: 'src/scheduler/scheduler.ts',
      find: 'new Sequence(options.fence)',
      replace: 'new Sequence(0)',
    }],
  },
];
