import { type Collection, codeOf, type Doc, type Op, put, type Store } from "@svc/sdk";
import { ANSWER_MS, CLAIM_MS, type FallenBy, type Item, type ItemState, isFinal, MOST_DRAINED } from "./item.ts";

/** The process that takes messages, with its present facts. */
export interface Taker {
  readonly process: string;
  readonly agent: string;
  readonly session: string;
  readonly pid?: number;
  readonly turn?: string;
}

/** The time, twice: a clock that a person may set, and one that only runs. */
export interface Clocks {
  now(): number;
  /** Milliseconds since any moment. */
  span(): number;
}

const INBOX = "inbox";
const META = "meta";
const COUNTER = "items";
/** Final ones are kept so long, to say what has become of them. */
const KEPT_MS = 24 * 3_600_000;
const PAGE = 1_000;

/** A message before it is queued. */
export type Draft = Pick<Item, "task" | "agent" | "from" | "channel" | "text" | "autonomy">;

/**
 * Messages that wait for a session, or that one has taken. Each change of state is one write that holds only while the row is as it was
 * read, so of a drain, a deadline, an answer and a release that meet, one wins and the others find the row changed.
 */
export class Inbox {
  readonly #store: Store;
  readonly #items: Collection<Item>;
  readonly #clocks: Clocks;
  /** Deadline of each item by the monotonic clock. */
  readonly #ends = new Map<string, number>();
  readonly #listeners = new Map<string, (item: Item) => void>();
  #enqueued: Promise<unknown> = Promise.resolve();

  constructor(store: Store, clocks: Clocks) {
    this.#store = store;
    this.#items = store.collection<Item>(INBOX, { indexes: ["agent", "process", "state", "task", "endedAt"] });
    this.#clocks = clocks;
  }

  /** Queues a message in one commit with `also`; undefined, and nothing written, where that no longer holds. */
  enqueue(draft: Draft, also: readonly Op[]): Promise<Item | undefined> {
    const enqueued = this.#enqueued.then(() => this.#enqueue(draft, also));
    this.#enqueued = enqueued.catch(() => undefined);
    return enqueued;
  }

  async #enqueue(draft: Draft, also: readonly Op[]): Promise<Item | undefined> {
    const counter = await this.#store.collection<{ last: number }>(META).get(COUNTER);
    const number = (counter?.value.last ?? 0) + 1;
    const at = this.#clocks.now();
    const item: Item = { ...draft, id: `m${number}`, number, state: "queued", at, due: at + CLAIM_MS };
    this.#ends.set(item.id, this.#clocks.span() + CLAIM_MS);
    try {
      await this.#store.commit([put(INBOX, item.id, item, "absent"), put(META, COUNTER, { last: number }, counter?.version ?? "absent"), ...also]);
      return item;
    } catch (error) {
      this.#ends.delete(item.id);
      if (codeOf(error) === "SVC_STORE_CONFLICT") return undefined;
      throw error;
    }
  }

  /** Calls `listener` at each change of the item, until the answer is called. */
  listen(id: string, listener: (item: Item) => void): () => void {
    this.#listeners.set(id, listener);
    return () => void this.#listeners.delete(id);
  }

  async get(id: string): Promise<Item | undefined> {
    return (await this.#items.get(id))?.value;
  }

  /** The newest one of a task. */
  async ofTask(task: string): Promise<Item | undefined> {
    return (await this.#list({ task })).at(-1)?.value;
  }

  /** Waiting for a session of the agent, oldest first. */
  async queued(agent: string): Promise<readonly Item[]> {
    return (await this.#list({ agent, state: "queued" })).map(({ value }) => value);
  }

  /** Taken by the process and not answered, oldest first. */
  async drained(process: string): Promise<readonly Item[]> {
    return (await this.#list({ process, state: "drained" })).map(({ value }) => value);
  }

  /** Returns queued and drained items of all agents. */
  async open(): Promise<readonly Item[]> {
    return [...(await this.#list({ state: "queued" })), ...(await this.#list({ state: "drained" }))].map(({ value }) => value);
  }

  /**
   * Drains the oldest items that have not expired, at most `max`, and as many as `fits` accepts; on a conflict with another taker it continues with
   * the rest.
   */
  async drain(taker: Taker, max: number, fits: (item: Item) => boolean = () => true): Promise<readonly Item[]> {
    const { agent, ...taken } = taker;
    for (;;) {
      const now = this.#clocks.now();
      const found: Doc<Item>[] = [];
      for (const doc of await this.#list({ agent, state: "queued" })) {
        if (doc.value.autonomy !== "act" || this.#isDue(doc.value, now)) continue;
        if (found.length >= Math.min(max, MOST_DRAINED) || !fits(doc.value)) break;
        found.push(doc);
      }
      if (found.length === 0) return [];
      const items = found.map(({ value }): Item => ({ ...value, ...taken, state: "drained", answerBy: now + ANSWER_MS }));
      try {
        await this.#store.commit(items.map((item, at) => put(INBOX, item.id, item, found[at]?.version ?? "absent")));
      } catch (error) {
        if (codeOf(error) === "SVC_STORE_CONFLICT") continue;
        throw error;
      }
      for (const item of items) {
        this.#ends.set(item.id, this.#clocks.span() + ANSWER_MS);
        this.#tell(item);
      }
      return items;
    }
  }

  /** Takes it back where its time is over: to be taken, or to be answered. */
  expire(id: string): Promise<Item | undefined> {
    return this.#change(id, ["queued", "drained"], (item, now) =>
      this.#isDue(item, now) ? { state: "fallen", fallenBy: item.state === "queued" ? "deadline" : "unanswered" } : undefined,
    );
  }

  /** Takes it back now. */
  fall(id: string, fallenBy: FallenBy): Promise<Item | undefined> {
    return this.#change(id, ["queued", "drained"], () => ({ state: "fallen", fallenBy }));
  }

  /** Of an item that this process was handed and whose time is not over. Undefined where it is not; then `get` tells why. */
  answer(id: string, process: string, reply: string): Promise<Item | undefined> {
    return this.#change(id, ["drained"], (item, now) => (item.process === process && !this.#isDue(item, now) ? { state: "answered", reply } : undefined));
  }

  /** The same without an answer. */
  refuse(id: string, process: string, reason: string): Promise<Item | undefined> {
    return this.#change(id, ["drained"], (item, now) => (item.process === process && !this.#isDue(item, now) ? { state: "refused", reason } : undefined));
  }

  /** Cancels an item that is no longer needed. */
  cancel(id: string): Promise<Item | undefined> {
    return this.#change(id, ["queued", "drained"], () => ({ state: "cancelled" }));
  }

  /** Notes that the session was told of what it owes. False when that was done before. */
  async remind(id: string): Promise<boolean> {
    return (await this.#change(id, ["drained"], ({ reminded }) => (reminded ? undefined : { reminded: true }))) !== undefined;
  }

  /** Drops what ended long ago. */
  async sweep(): Promise<void> {
    const ended = await this.#items.list({ by: "endedAt", to: this.#clocks.now() - KEPT_MS, limit: PAGE });
    for (const { key } of ended) await this.#items.delete(key);
  }

  async #list(where: Readonly<Record<string, string>>): Promise<readonly Doc<Item>[]> {
    return [...(await this.#items.list({ where, limit: PAGE }))].sort((left, right) => left.value.number - right.value.number);
  }

  #isDue({ id, state, due, answerBy = 0 }: Item, now: number): boolean {
    return (state === "queued" ? due : answerBy) <= now || (this.#ends.get(id) ?? Number.POSITIVE_INFINITY) <= this.#clocks.span();
  }

  /** One step of one item; undefined where the row is not in `from`, or `next` says no. */
  async #change(id: string, from: readonly ItemState[], next: (item: Item, now: number) => Partial<Item> | undefined): Promise<Item | undefined> {
    for (;;) {
      const doc = await this.#items.get(id);
      const now = this.#clocks.now();
      if (doc === undefined || !from.includes(doc.value.state)) return undefined;
      const change = next(doc.value, now);
      if (change === undefined) return undefined;
      const changed: Item = { ...doc.value, ...change };
      const item: Item = isFinal(changed) ? { ...changed, endedAt: now } : changed;
      try {
        await this.#items.put(id, item, doc.version);
      } catch (error) {
        if (codeOf(error) === "SVC_STORE_CONFLICT") continue;
        throw error;
      }
      if (isFinal(item)) this.#ends.delete(id);
      if (item.state !== doc.value.state) this.#tell(item);
      return item;
    }
  }

  #tell(item: Item): void {
    this.#listeners.get(item.id)?.(item);
  }
}
