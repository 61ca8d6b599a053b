import { type Claimed, codeOf, complete, type Op, type Queue, type Store, sleep, type Target } from "@svc/sdk";
import type { Live } from "../core/host/live.ts";
import type { SendRefusal } from "./channel-calls.ts";
import type { ChoiceBook } from "./choice-book.ts";
import { type Carried, type DeliverEntryDeps, deliverEntry } from "./deliver-entry.ts";
import { createOutages } from "./outages.ts";
import { conversationKey, type OutboxEntry, openEntry, outboxOf } from "./outbox-entry.ts";
import type { ProgressBook } from "./progress.ts";

/** Reason for giving up an entry; `uncertain`: it may have arrived, and there is no way to know. */
export type GivenUp = "refused" | "expired" | "uncertain";

/** Dependencies of the outbox, and its reports about each delivery. */
export interface OutboxDeps extends Omit<DeliverEntryDeps, "stop"> {
  readonly store: Store;
  readonly choices: ChoiceBook;
  readonly ttlMs: number;
  readonly maxTries: number;
  readonly maxDoubts: number;
  live(): Live;
  now(): number;
  sent(entry: OutboxEntry, ids: readonly string[]): void;
  /** Called once for each entry that failed by itself, and once for all that expired together. */
  failed(entries: readonly OutboxEntry[], why: GivenUp, reason: string): void;
  delayed(entry: OutboxEntry, refusal: SendRefusal): void;
}

/** Sends at the same time on one channel, to different places. */
const PARALLEL = 8;
/** Longer than any send takes; after a crash the store releases claims at once. */
const LEASE_MS = 900_000;
/** Failures of the store that pass, and the delay of a retry. */
const PASSING = /^SVC_STORE_(BUSY|FULL|UNREACHABLE)$/;
const AGAIN_MS = 1_000;
const LONGEST_TIMER_MS = 2_147_483_647;
const PAGE = 1_000;

/** The durable queue of one channel, and the work on it. */
export class ChannelQueue {
  readonly #channel: string;
  readonly #deps: OutboxDeps;
  readonly #queue: Queue<OutboxEntry>;
  readonly #book: ProgressBook;
  /** Claimed and not released yet. */
  readonly #onWire = new Set<string>();
  /** Done at the platform, but the store would not take it: never sent again by this process. */
  readonly #unstored = new Map<string, readonly Op[]>();
  readonly #outages = createOutages();
  /** One for each moment at which something becomes due. */
  readonly #alarms = new Map<number, NodeJS.Timeout>();
  readonly #handled = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #stopping = false;
  #busy = false;
  #again = false;
  #sweepDue = false;
  #expecting = false;
  /** Already reported once; reset when the store answers again. */
  #unread = false;

  constructor(channel: string, deps: OutboxDeps) {
    this.#channel = channel;
    this.#deps = deps;
    this.#queue = deps.store.queue(outboxOf(channel));
    const { book } = deps;
    this.#book = { ...book, load: (key) => this.#insist(() => book.load(key)), save: (key, shown) => this.#insist(() => book.save(key, shown)) };
  }

  /** Something may have become possible. */
  wake(): void {
    void this.#work();
  }

  /**
   * A commit in progress puts a delivery into the queue: claims along with it, in one transaction if the store groups its writes, so that it does not
   * wait for the disk a second time. If there is no delivery after all, the claim is empty.
   */
  expect(): void {
    this.#expecting = true;
    void this.#work();
  }

  /** Whether something waits here for that conversation. */
  async holds(target: Target): Promise<boolean> {
    return (await this.#queue.size(conversationKey(target))) > 0;
  }

  /** As `wake`, and first drops expired entries. */
  sweep(): void {
    this.#sweepDue = true;
    void this.#work();
  }

  /** Claims no more, lets deliveries in progress finish for `graceMs`, then aborts them. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    for (const alarm of this.#alarms.values()) clearTimeout(alarm);
    const grace = setTimeout(() => this.#stop.abort(), graceMs);
    await Promise.all(this.#handled);
    clearTimeout(grace);
  }

  #ready(): boolean {
    return this.#deps.live().channels.get(this.#channel)?.state === "ready";
  }

  #isOld(entry: OutboxEntry): boolean {
    return entry.at + this.#deps.ttlMs <= this.#deps.now();
  }

  /** Sweeping and claiming take turns: nothing is let go for its age while it is being claimed. */
  async #work(): Promise<void> {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    try {
      do {
        this.#again = false;
        if (this.#sweepDue) {
          this.#sweepDue = false;
          await this.#expire();
        }
        const free = PARALLEL - this.#onWire.size;
        const expecting = this.#expecting;
        this.#expecting = false;
        if (this.#stopping || free <= 0 || !this.#ready() || (!expecting && (await this.#queue.size()) <= this.#onWire.size)) continue;
        for (const item of await this.#queue.claim(free, LEASE_MS)) if (!this.#onWire.has(item.id)) this.#begin(item);
      } while (this.#again && !this.#stopping);
      this.#unread = false;
    } catch (error) {
      if (!this.#unread) this.#deps.log.error({ channel: this.#channel, err: error }, "the outbox could not be read; tried again until it can");
      this.#unread = true;
      this.#wakeIn(AGAIN_MS);
    } finally {
      this.#busy = false;
    }
  }

  #begin(item: Claimed<OutboxEntry>): void {
    this.#onWire.add(item.id);
    const done = this.#handle(item)
      .catch((error) => this.#stumbled(item.value, error))
      .finally(() => {
        this.#handled.delete(done);
        void this.#work();
      });
    this.#handled.add(done);
  }

  async #handle({ id, value: entry, redelivered, attempt }: Claimed<OutboxEntry>): Promise<void> {
    const earlier = this.#unstored.get(id);
    if (earlier !== undefined) return this.#close(id, earlier);
    const ops = [complete(outboxOf(this.#channel), id), this.#deps.book.forget(entry.progress)];
    const lost = [...ops, ...this.#deps.choices.drop(entry.delivery)];
    if (this.#isOld(entry)) {
      await this.#close(id, lost);
      return this.#deps.failed([entry], "expired", this.#expiredText(1));
    }
    const provided = this.#deps.live().channels.get(this.#channel);
    if (provided === undefined) return this.#giveBack(entry, 0);
    const carried = await deliverEntry(entry, redelivered, provided, { ...this.#deps, book: this.#book, stop: this.#stop.signal });
    if (carried.kind === "sent") {
      if (entry.delivery.choices === undefined) await this.#close(id, ops);
      else if (!(await this.#closeAsked(entry, ops, carried))) return this.#giveBack(entry, 0);
      this.#deps.sent(entry, carried.ids);
      return this.#hasten(this.#outages.passed(entry));
    }
    if (carried.kind === "failed") {
      await this.#close(id, lost);
      return this.#deps.failed([entry], "refused", carried.reason);
    }
    const { refusal, counts } = carried;
    if (refusal !== undefined) this.#deps.delayed(entry, refusal);
    const tries = entry.tries + (counts === "try" ? 1 : 0);
    const doubts = (entry.doubts ?? 0) + (counts === "doubt" ? 1 : 0);
    const reason = refusal?.reason ?? "no answer";
    if (tries >= this.#deps.maxTries) {
      await this.#close(id, lost);
      return this.#deps.failed([entry], "refused", `given up after ${tries} tries: ${reason}`);
    }
    if (doubts >= this.#deps.maxDoubts) {
      await this.#close(id, lost);
      return this.#deps.failed([entry], "uncertain", `sent ${doubts} times without an answer of the platform: ${reason}`);
    }
    if (counts !== "nothing") this.#outages.failed(entry, attempt);
    // A longer wait would outlast the entry's lifetime.
    await this.#giveBack({ ...entry, tries, ...(doubts > 0 ? { doubts } : {}) }, this.#stopping ? 0 : Math.min(carried.waitMs, this.#deps.ttlMs));
  }

  /** Nobody foresaw this error: the conversation must not wait for the end of the lease. */
  async #stumbled(entry: OutboxEntry, error: unknown): Promise<void> {
    const { log, backoff } = this.#deps;
    log.error({ channel: this.#channel, delivery: entry.delivery.id, err: error }, "a delivery could not be put forward; it stays in the outbox");
    await this.#giveBack({ ...entry, tries: entry.tries + 1 }, this.#stopping ? 0 : backoff(entry.tries)).catch(() => {});
  }

  /** The account answers again: release the entries that waited for that. One of a later claim may be on its way from another daemon. */
  async #hasten(waiting: ReadonlyMap<string, number>): Promise<void> {
    if (waiting.size === 0) return;
    for (const { id, attempt } of await this.#queue.list(PAGE))
      if (waiting.get(id) === attempt && !this.#onWire.has(id) && !this.#stopping) await this.#queue.release(id, 0);
  }

  async #giveBack(entry: OutboxEntry, waitMs: number): Promise<void> {
    const { id } = entry.delivery;
    // First, because it may be claimed again the moment it is released.
    this.#onWire.delete(id);
    await this.#insist(() => this.#queue.release(id, waitMs, entry));
    this.#wakeIn(waitMs);
  }

  /** Complete a delivery with choices. False when its question was closed meanwhile: then the platform is to show that. */
  async #closeAsked(entry: OutboxEntry, ops: readonly Op[], { shown, showed }: Extract<Carried, { kind: "sent" }>): Promise<boolean> {
    const { delivery } = entry;
    const noted = await this.#deps.choices.sent(openEntry(entry), shown, showed);
    if (noted === "changed") return false;
    try {
      // What is noted holds for the question as it was read: it may be closed while the store takes nothing.
      await this.#insist(() => this.#deps.store.commit([...ops, ...noted]));
      this.#onWire.delete(delivery.id);
      return true;
    } catch (error) {
      if (codeOf(error) === "SVC_STORE_CONFLICT") return false;
      await this.#close(delivery.id, [...ops, ...noted]);
      return true;
    }
  }

  /** A store that does not answer, or has no room, has stored nothing: retry until it does, or the daemon stops. */
  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (this.#stopping || !PASSING.test(codeOf(error) ?? "")) throw error;
        await sleep(AGAIN_MS, this.#stop.signal);
      }
    }
  }

  async #close(id: string, ops: readonly Op[]): Promise<void> {
    try {
      await this.#insist(() => this.#deps.store.commit(ops));
      this.#unstored.delete(id);
    } catch (error) {
      this.#unstored.set(id, ops);
      this.#deps.log.error({ channel: this.#channel, err: error }, "the end of a delivery was not stored; after a crash it may be sent twice");
    }
    this.#onWire.delete(id);
  }

  async #expire(): Promise<void> {
    const { now, ttlMs, book, choices, store } = this.#deps;
    const expired: OutboxEntry[] = [];
    for (;;) {
      const page = await this.#queue.list(PAGE);
      const old = page.filter(({ id, value }) => this.#isOld(value) && !this.#onWire.has(id) && !this.#unstored.has(id));
      if (old.length > 0) {
        const gone = ({ id, value }: (typeof old)[number]) => [
          complete(outboxOf(this.#channel), id),
          book.forget(value.progress),
          ...choices.drop(value.delivery),
        ];
        await store.commit(old.flatMap(gone));
      }
      expired.push(...old.map(({ value }) => value));
      // No entry is delayed for longer than its time to live: such a delay comes from a changed system clock.
      for (const { id, dueAt } of page) if (dueAt - now() > ttlMs && !this.#onWire.has(id)) await this.#queue.release(id, 0);
      if (page.length === PAGE && old.length > 0) continue;
      const next = Math.min(...page.filter(({ dueAt }) => dueAt > now() && dueAt - now() <= ttlMs).map(({ dueAt }) => dueAt));
      if (Number.isFinite(next)) this.#wakeIn(next - now());
      break;
    }
    if (expired.length > 0) this.#deps.failed(expired, "expired", this.#expiredText(expired.length));
  }

  #expiredText(count: number): string {
    const minutes = Math.round(this.#deps.ttlMs / 60_000);
    return `${count} ${count === 1 ? "delivery" : "deliveries"} on ${this.#channel} older than ${minutes} minutes expired unsent`;
  }

  #wakeIn(ms: number): void {
    this.#wakeAt(this.#deps.now() + ms);
  }

  #wakeAt(at: number): void {
    if (this.#stopping || this.#alarms.has(at)) return;
    const alarm = setTimeout(
      () => {
        this.#alarms.delete(at);
        // Timers may be a moment early, and then nothing would be due yet.
        if (this.#deps.now() < at) this.#wakeAt(at);
        else void this.#work();
      },
      Math.min(Math.max(0, at - this.#deps.now()), LONGEST_TIMER_MS),
    );
    alarm.unref();
    this.#alarms.set(at, alarm);
  }
}
