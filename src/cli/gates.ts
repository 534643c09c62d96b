/**
 * Which gate of a pool would refuse a caller now, and until when, in the order in which a caller
 * meets them: the server itself, the pause, the rate, whoever waits already, the slots; and last
 * what holds back proxied calls alone, the credentials.
 */
import type { Row } from './admin_client.ts';
import { fieldOf, instantOf, numberOf, rowsOf, textOf } from './fields.ts';

export interface Gate {
  readonly gate: 'server' | 'pause' | 'rate' | 'queue' | 'slots' | 'credentials';
  readonly isOpen: boolean;
  /** Epoch ms; null: not known, or not for time alone to open. */
  readonly until: number | null;
  readonly why: string;
}

/** @param status of the pool, as the admin API has it. */
export function gatesOf(status: Row): Gate[] {
  const count = (field: string) => numberOf(status, field) ?? 0;
  const [inUse, limit, queued] = [count('inUse'), count('effectiveLimit'), count('queued')];
  const slots = `${inUse} of ${limit} in use`;
  const why = reasonOf(status, 'slots');
  return [
    ...serverGates(status),
    timed(status, 'pause'),
    timed(status, 'rate'),
    {
      gate: 'queue',
      isOpen: queued === 0,
      until: null,
      why: queued === 0 ? 'nobody waits' : `${queued} wait already, and nobody overtakes`,
    },
    {
      gate: 'slots',
      isOpen: inUse < limit,
      until: null,
      why: why === null ? slots : `${slots}; limit: ${why}`,
    },
    ...credentialsGates(status),
  ];
}

/** Shut for locks while the database takes no writes, and for all in a stop; else there is none. */
function serverGates(status: Row): Gate[] {
  const closed = fieldOf(status, 'closed') ?? null;
  if (closed === null) return [];
  const why = closed === 'shutting_down'
    ? 'the server is shutting down'
    : 'the database does not take writes; proxied calls go on';
  return [{ gate: 'server', isOpen: false, until: null, why }];
}

/** Of proxied calls alone: shut while all credentials are put aside. No gate where none is set. */
export function credentialsGates(status: Row): Gate[] {
  const all = rowsOf(status, 'credentials');
  if (all.length === 0) return [];
  const gate = 'credentials';
  const aside = putAside(status);
  if (aside.length === 0) return [{ gate, isOpen: true, until: null, why: 'none is put aside' }];
  const told = aside.map((row) =>
    `${textOf(row, 'name')} by ${textOf(row, 'coolingFor')} until ${instantOf(row, 'coolingUntil')}`
  ).join(', ');
  const free = all.filter((row) => !aside.includes(row)).map((row) => textOf(row, 'name'));
  if (free.length > 0) {
    const why = `put aside: ${told}; calls go on with ${free.join(', ')}`;
    return [{ gate, isOpen: true, until: null, why }];
  }
  return [{
    gate,
    isOpen: false,
    until: Math.min(...aside.map((row) => numberOf(row, 'coolingUntil') ?? Infinity)),
    why: `all credentials are put aside: ${told}`,
  }];
}

/** The credentials that no call carries just now, for an answer of the upstream. */
export function putAside(status: Row): Row[] {
  return rowsOf(status, 'credentials').filter((row) => numberOf(row, 'coolingUntil') !== null);
}

/** A gate that time opens. */
function timed(status: Row, gate: 'pause' | 'rate'): Gate {
  const isShut = fieldOf(status, 'gate.reason') === (gate === 'pause' ? 'paused' : 'rate');
  const why = reasonOf(status, gate);
  return {
    gate,
    isOpen: !isShut,
    until: isShut ? numberOf(status, 'gate.until') : null,
    why: gate === 'pause'
      ? why ?? 'not paused'
      : rateLeft(status) + (why === null ? '' : `; ${why}`),
  };
}

function rateLeft(status: Row): string {
  if (numberOf(status, 'rpm') === null) return 'no rate of starts is set or learned';
  const left = Math.floor(numberOf(status, 'rpmRemaining') ?? 0);
  return `${left} of ${textOf(status, 'rpm')} starts a minute left`;
}

/** Why the pool holds back, where it is this gate that does. */
function reasonOf(status: Row, gate: Gate['gate']): string | null {
  return fieldOf(status, 'about') === gate ? textOf(status, 'reason') : null;
}

/** The gate that refuses a call that does not wait; null where one would be granted. */
export function refusing(gates: readonly Gate[]): Gate | null {
  return gates.find(({ isOpen }) => !isOpen) ?? null;
}
