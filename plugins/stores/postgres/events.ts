import type { StoreNews } from "@svc/sdk";
import type { Server } from "./server.ts";

/** Values of each daemon that stay for those that have not read them yet, or that begin later. */
const KEPT = 1_000;
/** Values read at once. */
const MOST = 2_000;
/** An exchange that takes longer is tried again. */
const PATIENCE_MS = 5_000;

/** The daemons of a schema tell each other what happens: how far this boot has heard each of the others. */
export class Events {
  readonly #server: Server;
  readonly #boot: number;
  /** The last number heard, by boot. */
  readonly #heard = new Map<number, number>();

  constructor(server: Server, boot: number) {
    this.#server = server;
    this.#boot = boot;
  }

  /** As `StoreDriver.exchange`. One call at a time. */
  async exchange(first: number, values: readonly string[]): Promise<readonly StoreNews[]> {
    const rows = await this.#server.query<{ boot: number; node: string; n: number; value: string }>(
      "SELECT boot::float8, node, n::float8, value FROM {s}.exchange_events($1, $2, $3, $4, $5, $6)",
      [this.#boot, first, JSON.stringify(values), JSON.stringify(Object.fromEntries(this.#heard)), KEPT, MOST],
      PATIENCE_MS,
    );
    const news: { boot: number; node: string; values: string[]; missed: number }[] = [];
    for (const { boot, node, n, value } of rows) {
      const before = this.#heard.get(boot);
      this.#heard.set(boot, n);
      // Events of a boot from before its first one here are history, not a loss.
      const missed = before === undefined ? 0 : n - before - 1;
      const last = news.at(-1);
      if (last?.boot === boot && missed === 0) last.values.push(value);
      else news.push({ boot, node, values: [value], missed });
    }
    return news;
  }
}
