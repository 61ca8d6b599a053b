import type { EventStream, HttpReply } from "@svc/sdk";

interface Told {
  readonly n: number;
  readonly name: string;
  readonly data: unknown;
}

/** Number of messages kept for a page that reconnects. */
const MOST_KEPT = 500;
/** Pages of one call that listen at once; the oldest goes. */
const MOST_STREAMS = 4;

/** Numbered messages to a call's page: a reconnecting one gets the missed ones. */
export class CallStream {
  readonly #told: Told[] = [];
  readonly #streams = new Set<EventStream>();
  #n = 0;
  #ended = false;
  /** Streams were opened and all are gone: when that was, by the clock of the daemon. */
  #leftAt: number | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  tell(name: string, data: unknown): void {
    if (this.#ended) return;
    this.#n += 1;
    const told = { n: this.#n, name, data };
    this.#told.push(told);
    if (this.#told.length > MOST_KEPT) this.#told.shift();
    for (const stream of this.#streams) stream.event(name, data, String(told.n));
  }

  /**
   * Opens a stream: `snapshot` first, then what came after `lastId`, then what comes. What was missed and is no longer kept is left out; the
   * snapshot stands for it.
   */
  open(reply: HttpReply, lastId: string | undefined, snapshot: unknown, signal: AbortSignal): void {
    const stream = reply.header("cache-control", "no-store").stream();
    const after = /^\d{1,9}$/.test(lastId ?? "") ? Number(lastId) : 0;
    stream.event("call", snapshot);
    for (const { n, name, data } of this.#told) if (n > after) stream.event(name, data, String(n));
    if (this.#ended || signal.aborted) {
      stream.end();
      return;
    }
    this.#streams.add(stream);
    this.#leftAt = undefined;
    for (const old of this.#streams) {
      if (this.#streams.size <= MOST_STREAMS) break;
      this.#streams.delete(old);
      old.end();
    }
    signal.addEventListener("abort", () => this.#left(stream), { once: true });
  }

  #left(stream: EventStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.#leftAt = this.#now();
  }

  /** Time since the last listener left; undefined while there is one, and before the first. */
  get aloneMs(): number | undefined {
    return this.#leftAt === undefined ? undefined : this.#now() - this.#leftAt;
  }

  /** Sends a keep-alive: proxies close silent connections. */
  beat(): void {
    for (const stream of this.#streams) if (!stream.comment("still there")) this.#left(stream);
  }

  end(): void {
    this.#ended = true;
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }
}
