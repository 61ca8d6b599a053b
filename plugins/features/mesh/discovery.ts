import { isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import type { Log } from "@svc/sdk";
import { OwnRecords } from "./mdns-records.ts";
import { type LocalAddress, NetworkLink } from "./network-link.ts";
import { type FoundDaemon, RecordBook } from "./record-book.ts";

/** Dependencies of discovery. */
export interface DiscoveryOptions {
  /** `node.id`. */
  readonly node: string;
  /** Where the daemon listens; undefined where it opens no port. */
  readonly listens: { readonly host: string; readonly port: number } | undefined;
  readonly log: Log;
  /** Another port than that of multicast DNS, for tests. */
  readonly port?: number;
  /** The addresses of this machine; those of the system by default. */
  readonly addresses?: () => readonly LocalAddress[];
}

const ROUND_MS = 60_000;

/** Finds daemons on the local networks and announces this one, where others can reach it. Found daemons are only listed: no request is sent to them. */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #book = new RecordBook();
  readonly #links = new Map<string, NetworkLink>();
  readonly #own = new Map<string, OwnRecords>();
  #round: NodeJS.Timeout | undefined;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  start(): void {
    const { listens, log } = this.#options;
    const why = notAnnounced(listens);
    if (why !== undefined) log.info({}, `this daemon is not announced on the network: ${why}`);
    this.#follow();
    this.#round = setInterval(() => this.#follow(), ROUND_MS);
  }

  /** The daemons that are there now, by name. */
  found(): readonly FoundDaemon[] {
    return this.#book.found(new Set([...this.#own.values()].map(({ instance }) => instance.toLowerCase())));
  }

  async close(): Promise<void> {
    clearInterval(this.#round);
    const links = [...this.#links.values()];
    this.#links.clear();
    await Promise.all(links.map((link) => link.close()));
  }

  /** The networks may be others than a minute ago. */
  #follow(): void {
    const { node, listens, log, port, addresses = () => localAddresses(listens?.host) } = this.#options;
    const there = addresses();
    for (const [address, link] of this.#links) {
      if (there.some((one) => one.address === address)) link.ask();
      else {
        this.#links.delete(address);
        this.#own.delete(address);
        void link.close();
      }
    }
    for (const one of there.filter(({ address }) => !this.#links.has(address))) {
      const own =
        listens !== undefined && isReachedAt(listens.host, one.address) ? new OwnRecords({ node, address: one.address, port: listens.port }) : undefined;
      if (own !== undefined) this.#own.set(one.address, own);
      this.#links.set(
        one.address,
        new NetworkLink(one, { book: this.#book, log, ...(own === undefined ? {} : { own }), ...(port === undefined ? {} : { port }) }),
      );
    }
  }
}

/** Returns why this daemon is not announced; undefined if it is. */
export function notAnnounced(listens: DiscoveryOptions["listens"]): string | undefined {
  if (listens === undefined) return "it opens no port";
  const { host } = listens;
  if (host === "localhost" || host === "::1" || host.startsWith("127.")) return `it listens on ${host}, where no other machine reaches it; see node.bind`;
  if (isIPv6(host) && host !== "::") return `it listens on ${host}, and only IPv4 addresses are announced`;
  return undefined;
}

const isReachedAt = (host: string, address: string): boolean => host === address || host === "0.0.0.0" || host === "::";

/** One IPv4 address of each network of this machine: the one that is listened on, where it is among them. */
function localAddresses(host: string | undefined): readonly LocalAddress[] {
  return Object.values(networkInterfaces()).flatMap((all = []) => {
    const usable = all.filter(({ address, cidr, internal }) => isIPv4(address) && !internal && cidr !== null);
    const found = usable.find(({ address }) => address === host) ?? usable[0];
    return found === undefined ? [] : [{ address: found.address, cidr: found.cidr as string }];
  });
}
