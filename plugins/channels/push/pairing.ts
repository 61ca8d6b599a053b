import { randomInt } from "node:crypto";
import { type Store, svcError } from "@svc/sdk";
import { digestOf } from "./device.ts";

interface Code {
  readonly expiresAt: number;
}

/** Without letters and digits that look alike. */
const LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";
const LENGTH = 12;
const LIFETIME_MS = 10 * 60_000;
const MOST_OPEN = 100;

/** Codes that add one phone each: what a person carries from the command line to the phone. Only their digests are stored. */
export class Pairing {
  readonly #store: Pick<Store, "collection">;

  constructor(store: Pick<Store, "collection">) {
    this.#store = store;
  }

  get #rows() {
    return this.#store.collection<Code>("codes", { indexes: ["expiresAt"] });
  }

  /** A new code, good for ten minutes. */
  async issue(): Promise<{ readonly code: string; readonly expiresAt: number }> {
    for (const { key } of await this.#rows.list({ by: "expiresAt", to: Date.now(), limit: 1_000 })) await this.#rows.delete(key);
    if ((await this.#rows.count()) >= MOST_OPEN)
      throw svcError("SVC_PUSH_CODES", `${MOST_OPEN} codes wait for their phones; use one of them, or wait ten minutes.`, { status: 429 });
    const code = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
    const expiresAt = Date.now() + LIFETIME_MS;
    await this.#rows.put(digestOf(code), { expiresAt });
    return { code, expiresAt };
  }

  /** Uses a code up. Throws `SVC_PUSH_CODE` (403) for one that is unknown, used or too old. */
  async use(code: string): Promise<void> {
    const row = await this.#rows.get(digestOf(code.trim().toLowerCase()));
    const good = row !== undefined && row.value.expiresAt > Date.now();
    // Of two that come with it at once, one finds it.
    const used =
      row === undefined
        ? false
        : await this.#rows
            .delete(row.key, row.version)
            .then(() => true)
            .catch(() => false);
    if (!good || !used) throw svcError("SVC_PUSH_CODE", "This code is not, or no longer, good; make another one with: svc push add.", { status: 403 });
  }
}
