import type { Doc, Store } from "@svc/sdk";
import type { Notice } from "./notice.ts";

/** A notice with what became of it, device by device. */
interface Row extends Notice {
  /** Devices that need no further try, with the reason where they did not get it. */
  readonly done: Readonly<Record<string, string | true>>;
}

/** The last notices: for the page on the phone, and so that a delivery which is tried again goes only where it has not been. */
export class Notices {
  readonly #store: Pick<Store, "collection">;
  readonly #keep: number;
  /** Notices that are kept at least, whatever the page shows: those that may still be tried again. */
  static readonly LEAST = 200;

  constructor(store: Pick<Store, "collection">, keep: number) {
    this.#store = store;
    this.#keep = keep;
  }

  get #rows() {
    return this.#store.collection<Row>("notices", { indexes: ["at"] });
  }

  /** The newest first; at most as many as `keepRecent` says. */
  async recent(limit: number): Promise<readonly Notice[]> {
    const rows = await this.#rows.list({ by: "at", reverse: true, limit: Math.min(limit, this.#keep, 1_000) || 1 });
    return this.#keep === 0 ? [] : rows.map(({ value: { done: _done, ...notice } }) => notice);
  }

  /** Stores a notice before it is sent, so that the page behind it has it, and tells which devices are done with it. */
  async begin(notice: Notice): Promise<Doc<Row>> {
    const known = await this.#rows.get(notice.id);
    if (known !== undefined) return known;
    const value: Row = { ...notice, done: {} };
    const version = await this.#rows.put(notice.id, value, "absent");
    await this.#sweep();
    return { key: notice.id, value, version };
  }

  /** Notes the devices that are done with it. */
  async note({ key, value, version }: Doc<Row>, done: Row["done"]): Promise<void> {
    if (Object.keys(done).length > 0) await this.#rows.put(key, { ...value, done: { ...value.done, ...done } }, version);
  }

  async #sweep(): Promise<void> {
    const most = Math.max(this.#keep, Notices.LEAST);
    for (let over = (await this.#rows.count()) - most; over > 0; ) {
      const oldest = await this.#rows.list({ by: "at", limit: Math.min(over, 100) });
      for (const { key } of oldest) await this.#rows.delete(key);
      over -= Math.max(1, oldest.length);
    }
  }
}
