/**
 * Whose address a request has: the peer's, or the one that a trusted proxy forwards. From any other
 * peer the forwarding headers mean nothing, whatever they say.
 */
import { AddressRanges, plainAddress, plainHop } from '../cidr.ts';
import type { HeaderSource } from './header_source.ts';

export type PeerAddress =
  | { readonly kind: 'known'; readonly text: string }
  /** A Unix socket, or a peer that the runtime does not tell. */
  | { readonly kind: 'none'; readonly text: null }
  /** A trusted proxy sent a value that is no address where one is needed. */
  | { readonly kind: 'unreadable'; readonly text: null };

/** Where a connection comes from, as the runtime tells it. */
export interface PeerSource {
  readonly remoteAddr: { readonly transport: string; readonly hostname?: string };
}

export interface AddressSettings {
  /** Addresses and ranges. */
  readonly trustedProxies: readonly string[];
  /** The one header that is read from them. */
  readonly clientIpHeader: 'x-forwarded-for' | 'cf-connecting-ip';
}

const NONE: PeerAddress = { kind: 'none', text: null };
const UNREADABLE: PeerAddress = { kind: 'unreadable', text: null };
const CACHE_MAX = 1000;

export class AddressReader {
  readonly #trusted: AddressRanges;
  readonly #header: AddressSettings['clientIpHeader'];
  /** What was found for a peer as the runtime wrote it. */
  readonly #peers = new Map<string, PeerAddress>();

  constructor({ trustedProxies, clientIpHeader }: AddressSettings) {
    this.#trusted = new AddressRanges(trustedProxies);
    this.#header = clientIpHeader;
  }

  read(peer: PeerSource, headers: HeaderSource): PeerAddress {
    const address = this.#peerOf(peer);
    if (address.kind !== 'known' || !this.#trusted.has(address.text)) return address;
    const value = headers.get(this.#header);
    if (value === null) return address;
    return this.#header === 'cf-connecting-ip' ? addressOf(value) : this.#lastUntrusted(value);
  }

  /** Whether the peer itself is one of the trusted proxies. */
  isTrusted(peer: PeerSource): boolean {
    const address = this.#peerOf(peer);
    return address.kind === 'known' && this.#trusted.has(address.text);
  }

  /** From the right, past the trusted hops; what stands left of the first other one is hearsay. */
  #lastUntrusted(list: string): PeerAddress {
    const hops = list.split(',');
    let address = UNREADABLE;
    for (let i = hops.length - 1; i >= 0; i--) {
      address = addressOf((hops[i] as string).trim());
      if (address.kind !== 'known' || !this.#trusted.has(address.text)) return address;
    }
    return address;
  }

  #peerOf({ remoteAddr }: PeerSource): PeerAddress {
    const { transport, hostname } = remoteAddr;
    if (hostname === undefined || transport !== 'tcp') return NONE;
    const seen = this.#peers.get(hostname);
    if (seen !== undefined) return seen;
    const text = plainAddress(hostname);
    const address: PeerAddress = text === null ? NONE : { kind: 'known', text };
    if (this.#peers.size >= CACHE_MAX) this.#peers.clear();
    this.#peers.set(hostname, address);
    return address;
  }
}

function addressOf(text: string): PeerAddress {
  const plain = plainHop(text);
  return plain === null ? UNREADABLE : { kind: 'known', text: plain };
}
