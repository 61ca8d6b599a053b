import type { Collection, Log, PluginContext } from "@svc/sdk";

/** What became of one delivery. Its body is not kept: the task's record has what the agent was told. */
export interface DeliveryRow {
  /** Unix time in milliseconds. */
  readonly at: number;
  /** The entry's id, or `/<agent>` for a path without one. */
  readonly webhook: string;
  readonly agent: string;
  readonly source: string;
  readonly state: "accepted" | "duplicate" | "refused";
  /** The sender's id (`id:...`), or the digest of the bytes (`sha256:...`). */
  readonly delivery: string;
  readonly event?: string;
  readonly bytes: number;
  readonly taskId?: string;
  /** Why it was refused. */
  readonly error?: string;
}

const KEEP_MS = 30 * 86_400_000;
const KEEP_ROWS = 5_000;
const PAGE = 500;
const COLLECTION = "deliveries";

/** The deliveries that proved who sent them, newest first. Requests that did not are no rows: strangers write nothing. */
export class DeliveryLog {
  readonly #rows: Collection<DeliveryRow>;
  readonly #log: Log;
  readonly #writing = new Set<Promise<void>>();

  constructor({ store, log }: Pick<PluginContext, "store" | "log">) {
    this.#rows = store.collection<DeliveryRow>(COLLECTION, { indexes: ["webhook"] });
    this.#log = log;
  }

  /**
   * Begins to write a row and waits for nothing: the sender has its answer from the commit of the message. The row is in the store's next
   * commit; one that cannot be written takes nothing back and is a warning.
   */
  add(row: DeliveryRow): void {
    // Keys sort by time.
    const key = `${String(row.at).padStart(15, "0")}-${crypto.randomUUID().slice(0, 8)}`;
    const writing = this.#rows
      .put(key, row)
      .then(
        () => undefined,
        (error) => this.#log.warn({ webhook: row.webhook, err: error }, "a delivery could not be noted"),
      )
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** The newest first, with every row that was begun before. */
  async list(webhook: string, limit: number): Promise<readonly DeliveryRow[]> {
    await Promise.all(this.#writing);
    return (await this.#rows.list({ where: { webhook }, reverse: true, limit })).map(({ value }) => value);
  }

  /** Drops what is older than 30 days, and all but the newest 5,000. */
  async sweep(now: number): Promise<void> {
    let surplus = (await this.#rows.count()) - KEEP_ROWS;
    for (;;) {
      const page = await this.#rows.list({ limit: PAGE });
      const over = page.filter(({ value }, at) => value.at < now - KEEP_MS || at < surplus);
      await Promise.all(over.map(({ key }) => this.#rows.delete(key)));
      surplus -= over.length;
      if (over.length < PAGE) return;
    }
  }
}
