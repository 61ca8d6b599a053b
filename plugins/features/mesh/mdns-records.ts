import { createHash } from "node:crypto";
import type { MdnsRecord, Question } from "./mdns-client.ts";

/** Service type of mesh daemons on the local network (DNS-SD, RFC 6763). */
export const SERVICE = "_svc-mesh._tcp.local";
/** Where programs ask which services there are. */
export const SERVICES = "_services._dns-sd._udp.local";
/** Seconds for which others may believe what was said. */
export const TTL_SECONDS = 120;
/** The same for a program that asks once, from a port of its own (RFC 6762, 6.7). */
const LEGACY_TTL_SECONDS = 10;

/** This daemon's announcement on one network. */
export interface Announced {
  /** `node.id`. */
  readonly node: string;
  readonly address: string;
  readonly port: number;
}

/** The records of one announced daemon. Its names hold a digest of where it listens: two nodes of one id are two, and after a restart it is the same. */
export class OwnRecords {
  readonly instance: string;
  readonly #host: string;
  readonly #announced: Announced;

  constructor(announced: Announced) {
    const { node, address, port } = announced;
    const mark = createHash("sha256").update(`${node} ${address} ${port}`).digest("hex").slice(0, 8);
    this.instance = `${labelOf(node)}-${mark}.${SERVICE}`;
    this.#host = `svc-${mark}.local`;
    this.#announced = announced;
  }

  /** All of them; with `ttl` 0 they are taken back. */
  all(ttl = TTL_SECONDS): readonly MdnsRecord[] {
    return [this.#pointer(ttl), ...this.#details(ttl)];
  }

  /** Returns the answer to a question, with additional records that the asker will need next; undefined if the question is not about this daemon. */
  answer({ name, type }: Question): { readonly answers: readonly MdnsRecord[]; readonly additionals: readonly MdnsRecord[] } | undefined {
    const asked = name.toLowerCase();
    const meant = (own: string) => type === "ANY" || type === own;
    if (asked === SERVICE && meant("PTR")) return { answers: [this.#pointer()], additionals: this.#details() };
    if (asked === SERVICES && meant("PTR")) return { answers: [{ name: SERVICES, type: "PTR", ttl: TTL_SECONDS, data: SERVICE }], additionals: [] };
    const own = this.#details().filter((record) => record.name.toLowerCase() === asked && meant(record.type));
    return own.length === 0 ? undefined : { answers: own, additionals: this.#details().filter((record) => !own.includes(record)) };
  }

  #pointer(ttl = TTL_SECONDS): MdnsRecord {
    return { name: SERVICE, type: "PTR", ttl, data: this.instance };
  }

  #details(ttl = TTL_SECONDS): readonly MdnsRecord[] {
    const { node, address, port } = this.#announced;
    return [
      { name: this.instance, type: "SRV", ttl, flush: true, data: { target: this.#host, port, priority: 0, weight: 0 } },
      { name: this.instance, type: "TXT", ttl, flush: true, data: [`node=${node}`] },
      { name: this.#host, type: "A", ttl, flush: true, data: address },
    ];
  }
}

/** For a program that asks once: it keeps nothing for long, and knows no flush bit. */
export const legacy = (records: readonly MdnsRecord[]): readonly MdnsRecord[] =>
  records.map(({ flush: _flush, ...record }) => ({ ...record, ttl: LEGACY_TTL_SECONDS }));

/** The part of an id that may stand in a name. */
const labelOf = (id: string): string => id.replace(/[^A-Za-z0-9-]/g, "-").slice(0, 40);
