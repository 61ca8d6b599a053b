import type { Collection, Doc, HttpRequest, Log, PluginContext } from "@svc/sdk";
import { KeptBodies, type KeptBody } from "./kept-bodies.ts";

/** Result of one delivery. */
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
  /** Where it started a workflow. */
  readonly runId?: string;
  readonly workflow?: string;
  /** Where in the task's message the body begins, which is then kept nowhere else. */
  readonly bodyAt?: number;
  /** The delivery that the operator had worked on again by this one. */
  readonly replayOf?: string;
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
  readonly #bodies: KeptBodies;
  readonly #log: Log;
  readonly #writing = new Set<Promise<void>>();

  constructor({ store, log }: Pick<PluginContext, "store" | "log">) {
    this.#rows = store.collection<DeliveryRow>(COLLECTION, { indexes: ["webhook"] });
    this.#bodies = new KeptBodies(store);
    this.#log = log;
  }

  /**
   * Begins to write a row and waits for nothing: the sender has its answer from the commit of the message. The row is in the store's next
   * commit; one that cannot be written takes nothing back and is a warning.
   */
  add(row: DeliveryRow, request?: Pick<HttpRequest, "raw" | "headers">): void {
    // Keys sort by time.
    const key = `${String(row.at).padStart(15, "0")}-${crypto.randomUUID().slice(0, 8)}`;
    const keeps = request !== undefined && row.bodyAt === undefined && row.state !== "duplicate";
    const writing = Promise.all([this.#rows.put(key, row), keeps ? this.#bodies.add(key, request) : undefined])
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

  /** The newest one of that id that was no repetition, with its body where that is kept beside the task's message. */
  async find(delivery: string, webhook?: string): Promise<{ readonly row: DeliveryRow; readonly body?: KeptBody } | undefined> {
    await Promise.all(this.#writing);
    const one = await this.#newest(
      ({ delivery: id, state, webhook: entry }) => id === delivery && state !== "duplicate" && (webhook === undefined || entry === webhook),
    );
    if (one === undefined) return undefined;
    const body = await this.#bodies.get(one.key);
    return { row: one.value, ...(body === undefined ? {} : { body }) };
  }

  /** Read through from the newest on: an index would cost every delivery what a replay needs once in a while. */
  async #newest(fits: (row: DeliveryRow) => boolean): Promise<Doc<DeliveryRow> | undefined> {
    let after: string | undefined;
    for (;;) {
      const page = await this.#rows.list({ reverse: true, limit: PAGE, ...(after === undefined ? {} : { after }) });
      const found = page.find(({ value }) => fits(value));
      if (found !== undefined || page.length < PAGE) return found;
      after = page.at(-1)?.key;
    }
  }

  /** Deletes rows older than 30 days, and all but the newest 5,000. */
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
