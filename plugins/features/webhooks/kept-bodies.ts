import type { Collection, HttpRequest, Store } from "@svc/sdk";

/** A body as it was sent, with the headers that tell what it is. */
export interface KeptBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly base64: string;
}

/** One larger than this is not kept. */
const MOST_BYTES = 2_097_152;
const MOST_TOGETHER = 33_554_432;
const MOST = 200;
/** Headers that a replay needs beside the body: its type and its event. */
const HEADERS = ["content-type", "x-event-type", "x-forge-event", "x-github-event", "x-gitlab-event"];

/**
 * Bodies that stand in no task's message whole and as they were sent: of deliveries that were refused or started a workflow, of long ones,
 * forms and bytes. The newest 200, together at most 32 MB.
 */
export class KeptBodies {
  readonly #bodies: Collection<KeptBody>;
  /** Keys in the order in which they came, with their sizes; read with the first body that is added. */
  #sizes: Promise<Map<string, number>> | undefined;

  constructor(store: Store) {
    this.#bodies = store.collection<KeptBody>("bodies");
  }

  async get(key: string): Promise<KeptBody | undefined> {
    return (await this.#bodies.get(key))?.value;
  }

  async add(key: string, { raw = new Uint8Array(), headers }: Pick<HttpRequest, "raw" | "headers">): Promise<void> {
    if (raw.length > MOST_BYTES) return;
    const told = HEADERS.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : []));
    const body: KeptBody = { headers: Object.fromEntries(told), base64: Buffer.from(raw).toString("base64") };
    const sizes = await this.#measured();
    await this.#bodies.put(key, body);
    sizes.set(key, raw.length);
    let together = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [oldest, size] of sizes) {
      if (sizes.size <= MOST && together <= MOST_TOGETHER) return;
      sizes.delete(oldest);
      together -= size;
      await this.#bodies.delete(oldest);
    }
  }

  #measured(): Promise<Map<string, number>> {
    this.#sizes ??= this.#measure().catch((error) => {
      this.#sizes = undefined;
      throw error;
    });
    return this.#sizes;
  }

  async #measure(): Promise<Map<string, number>> {
    const sizes = new Map<string, number>();
    let after: string | undefined;
    for (;;) {
      const page = await this.#bodies.list({ limit: 20, ...(after === undefined ? {} : { after }) });
      for (const { key, value } of page) sizes.set(key, (value.base64.length * 3) / 4);
      after = page.at(-1)?.key;
      if (page.length < 20) return sizes;
    }
  }
}
