/**
 * IP addresses and ranges in one plain form: an IPv4-mapped IPv6 address is the IPv4 address that
 * it carries, a zone is left out, IPv6 is written short. What has no such form is null, never a
 * guess.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';

const RANGE = /^([^/]+)\/(0|[1-9]\d{0,2})$/;
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;
const MAPPED_BITS = 96;
const KNOWN_MAX = 1_000;

/** The address in its plain form; null where the text is none. */
export function plainAddress(text: string): string | null {
  const zoneAt = text.indexOf('%');
  const address = zoneAt < 0 ? text : text.slice(0, zoneAt);
  if (isIPv4(address)) return zoneAt < 0 ? address : null;
  if (isIP(address) !== 6) return null;
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = MAPPED.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [...octetsOf(high), ...octetsOf(low)].join('.');
}

/** The same of an address that may have a port, and brackets around IPv6. */
export function plainHop(text: string): string | null {
  const [, bracketed, bare] = /^(?:\[([^\]]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/
    .exec(text) ?? [];
  return plainAddress(bracketed ?? bare ?? text);
}

/** Whether the text is an address or a range (`10.0.0.0/8`). */
export function isCidr(text: string): boolean {
  return rangeOf(text) !== null;
}

/** A list of addresses and ranges. */
export class AddressRanges {
  readonly isEmpty: boolean;
  /** One for each family: in one list a wide IPv6 range would hold mapped addresses too. */
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  /** What was found before: a look-up in the lists costs as much as a hash. */
  readonly #known = new Map<string, boolean>();

  /** @throws Error where {@link isCidr} does not hold. */
  constructor(cidrs: readonly string[]) {
    this.isEmpty = cidrs.length === 0;
    for (const cidr of cidrs) {
      const range = rangeOf(cidr);
      if (range === null) throw new Error(`${cidr} is neither an address nor a range`);
      const family = familyOf(range.address);
      this.#lists[family].addSubnet(range.address, range.bits, family);
    }
  }

  /** @param address in its plain form. */
  has(address: string): boolean {
    if (this.isEmpty) return false;
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    const family = familyOf(address);
    const isIn = this.#lists[family].check(address, family);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(address, isIn);
    return isIn;
  }
}

/** Whether a plain address is this machine's own. */
export function isLoopback(address: string): boolean {
  return address === '::1' || (address.startsWith('127.') && isIPv4(address));
}

/**
 * What a plain address is counted as: whoever has an IPv6 address commonly has the 2^64 beside it.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const ending = tail === '' ? [] : tail.split(':');
  const isShort = address.includes('::');
  while (isShort && groups.length + ending.length < 8) groups.push('0');
  return [...groups, ...ending].slice(0, 4).join(':');
}

function rangeOf(text: string): { address: string; bits: number } | null {
  const [, base = text, digits] = RANGE.exec(text) ?? [];
  if (base.includes('%')) return null;
  const address = plainAddress(base);
  if (address === null) return null;
  const isMapped = isIPv4(address) && !isIPv4(base);
  const most = isIPv4(address) ? 32 : 128;
  const bits = digits === undefined ? most : Number(digits) - (isMapped ? MAPPED_BITS : 0);
  return bits >= 0 && bits <= most ? { address, bits } : null;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

function octetsOf(group: string): [number, number] {
  const value = parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
