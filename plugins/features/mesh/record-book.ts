import { isIPv4 } from "node:net";
import type { MdnsRecord, Packet, Question } from "./mdns-client.ts";
import { SERVICE } from "./mdns-records.ts";

/** A daemon that announces itself. Unverified: nothing is sent to it. */
export interface FoundDaemon {
  /** Name of its node, as it announces it. */
  readonly name: string;
  readonly url: string;
}

type Kind = "PTR" | "SRV" | "TXT" | "A";

interface Kept {
  readonly value: unknown;
  /** Unix time in milliseconds at which it is forgotten. */
  readonly until: number;
}

/** A packet of 9,000 bytes holds some hundreds. */
const MOST_RECORDS = 200;
/** Of each kind; a network that has more shows the first. */
const MOST_KEPT = 256;
const MOST_ASKED = 20;
const MOST_TTL_SECONDS = 4_500;
/** The name goes into a command that people copy: exclude characters with a meaning to a shell or a terminal. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Cache of announcements on the network, for their time to live. All content is untrusted. */
export class RecordBook {
  readonly #kept: Readonly<Record<Kind, Map<string, Kept>>> = {
    PTR: new Map<string, Kept>(),
    SRV: new Map<string, Kept>(),
    TXT: new Map<string, Kept>(),
    A: new Map<string, Kept>(),
  };
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Takes what a packet says of daemons, and passes over the rest. */
  take({ answers, additionals }: Pick<Packet, "answers" | "additionals">): void {
    for (const record of [...answers, ...additionals].slice(0, MOST_RECORDS)) {
      const name = record.name.toLowerCase();
      if (record.type === "PTR" && name === SERVICE && typeof record.data === "string" && record.data.toLowerCase().endsWith(`.${SERVICE}`))
        this.#keep("PTR", record.data.toLowerCase(), record);
      else if ((record.type === "SRV" || record.type === "TXT") && name.endsWith(`.${SERVICE}`)) this.#keep(record.type, name, record);
      else if (record.type === "A") this.#keep("A", name, record);
    }
  }

  /** Returns the questions that must be asked before the known names are daemons. */
  missing(): readonly Question[] {
    const questions: Question[] = [];
    for (const instance of this.#alive("PTR")) {
      const where = this.#read("SRV", instance) as { target?: unknown } | undefined;
      if (where === undefined) questions.push({ name: instance, type: "SRV" }, { name: instance, type: "TXT" });
      else if (typeof where.target === "string" && this.#read("A", where.target.toLowerCase()) === undefined) questions.push({ name: where.target, type: "A" });
    }
    return questions.slice(0, MOST_ASKED);
  }

  /** The daemons that are known whole, but the one that is called `own`. */
  found(own: ReadonlySet<string>): readonly FoundDaemon[] {
    const all = new Map<string, FoundDaemon>();
    for (const instance of this.#alive("PTR")) {
      if (own.has(instance)) continue;
      const { target, port } = (this.#read("SRV", instance) ?? {}) as { target?: unknown; port?: unknown };
      const name = nodeOf(this.#read("TXT", instance)) ?? instance.slice(0, -SERVICE.length - 1);
      const address = typeof target === "string" ? this.#read("A", target.toLowerCase()) : undefined;
      if (!NAME.test(name) || !isUsable(address) || !(typeof port === "number" && port >= 1 && port <= 65_535)) continue;
      const url = `http://${address}:${port}`;
      all.set(`${name} ${url}`, { name, url });
    }
    return [...all.values()].sort((a, b) => a.name.localeCompare(b.name) || a.url.localeCompare(b.url));
  }

  #keep(type: Kind, name: string, { ttl = 0, data }: MdnsRecord): void {
    const kept = this.#kept[type];
    if (ttl <= 0) return void kept.delete(name);
    if (kept.size >= MOST_KEPT && !kept.has(name)) {
      for (const [one, { until }] of kept) if (until <= this.#now()) kept.delete(one);
      if (kept.size >= MOST_KEPT) return;
    }
    kept.set(name, { value: data, until: this.#now() + Math.min(ttl, MOST_TTL_SECONDS) * 1_000 });
  }

  #read(type: Kind, name: string): unknown {
    const kept = this.#kept[type].get(name);
    return kept === undefined || kept.until <= this.#now() ? undefined : kept.value;
  }

  #alive(type: Kind): readonly string[] {
    return [...this.#kept[type]].flatMap(([name, { until }]) => (until > this.#now() ? [name] : []));
  }
}

/** `node=...` among the texts. */
function nodeOf(texts: unknown): string | undefined {
  const all = (Array.isArray(texts) ? texts : [texts]).map((text) => (text instanceof Uint8Array ? Buffer.from(text).toString("utf8") : String(text ?? "")));
  return all.find((text) => text.startsWith("node="))?.slice("node=".length);
}

/** An address of another machine: one that means this one here would have people add themselves. */
const isUsable = (address: unknown): address is string => typeof address === "string" && isIPv4(address) && !/^(0|127|22[4-9]|2[3-5]\d)\./.test(address);
