import type { Collection, Store } from "@svc/sdk";

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

  constructor(store: Store) {
    this.#rows = store.collection<DeliveryRow>(COLLECTION, { indexes: ["webhook"] });
  }

  async add(row: DeliveryRow): Promise<void> {
    // Keys sort by time.
    await this.#rows.put(`${String(row.at).padStart(15, "0")}-${crypto.randomUUID().slice(0, 8)}`, row);
  }

  async list(webhook: string, limit: number): Promise<readonly DeliveryRow[]> {
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
