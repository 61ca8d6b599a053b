import type { RemoteInfo } from "node:dgram";
import { createRequire } from "node:module";

/** One question of a multicast DNS packet. */
export interface Question {
  readonly name: string;
  readonly type: string;
}

/** One record of a multicast DNS packet, as far as this plugin reads and writes it. */
export interface MdnsRecord extends Question {
  readonly ttl?: number;
  /** The record is unique: others of its name and type are flushed from caches. */
  readonly flush?: boolean;
  /** A name (PTR), an address (A), texts (TXT), or where a service is (SRV). */
  readonly data?: unknown;
}

/** A packet as it comes in. */
export interface Packet {
  readonly id: number;
  readonly questions: readonly Question[];
  readonly answers: readonly MdnsRecord[];
  readonly additionals: readonly MdnsRecord[];
}

/** Packet that the library sends. */
export interface Sent {
  readonly id?: number;
  readonly questions?: readonly Question[];
  readonly answers?: readonly MdnsRecord[];
  readonly additionals?: readonly MdnsRecord[];
}

/** A socket of multicast DNS on one network. */
export interface MdnsSocket {
  on(event: "query" | "response", hear: (packet: Packet, from: RemoteInfo) => void): this;
  on(event: "error" | "warning", hear: (error: Error) => void): this;
  on(event: "ready", hear: () => void): this;
  query(packet: Sent, sent: (error?: Error | null) => void): void;
  respond(packet: Sent, to: { readonly port: number; readonly address: string } | null, sent: (error?: Error | null) => void): void;
  destroy(done?: () => void): void;
}

const TTL = 255;

/** Opens one on the network of a local address. It hears on every address, because none but that one gets multicast packets on Linux. */
export function openMdns(address: string, port: number): MdnsSocket {
  const multicastDns = createRequire(import.meta.url)("multicast-dns") as (options: object) => MdnsSocket;
  return multicastDns({ interface: address, bind: "0.0.0.0", port, ttl: TTL });
}
