import { type Claimed, complete, type Op, type Queue, type Store } from "@svc/sdk";
import type { Live } from "../../host/live.ts";
import type { Refusal } from "./channel-calls.ts";
import { type DeliverEntryDeps, deliverEntry } from "./deliver-entry.ts";
import { createOutages, type Outages } from "./outages.ts";
import { type OutboxEntry, outboxOf } from "./outbox-entry.ts";

/** The durable queues of all channels and the work on them. */
export interface Outbox {
  /** Something may have become possible on that channel. */
  wake(channel: string): void;
  /** The same, and first let go what has grown too old. */
  sweep(channel: string): void;
  /** Claim no more, let what is in flight finish for `graceMs`, then cut it. What is not done stays for the next start. */
  stop(graceMs: number): Promise<void>;
}

/** Why an entry is given up; `uncertain`: it may have arrived, and nobody will know. */
export type Failure = "refused" | "expired" | "uncertain";

export interface OutboxDeps extends Omit<DeliverEntryDeps, "stop"> {
  readonly store: Store;
  readonly ttlMs: number;
  readonly maxTries: number;
  readonly maxDoubts: number;
  live(): Live;
  now(): number;
  sent(entry: OutboxEntry, ids: readonly string[]): void;
  /** Once for each entry that failed by itself, once for all that expired together. */
  failed(entries: readonly OutboxEntry[], why: Failure, reason: string): void;
  delayed(entry: OutboxEntry, refusal: Refusal): void;
}

/** Sends at the same time on one channel, to different places. */
const PARALLEL = 8;
/** Longer than any entry takes in flight; after a crash the store gives claims back at once. */
const LEASE_MS = 900_000;
const LONGEST_TIMER_MS = 2_147_483_647;
const PAGE = 1_000;

interface Line {
  readonly channel: string;
  readonly queue: Queue<OutboxEntry>;
  /** Claimed and not given back yet. */
  readonly onWire: Set<string>;
  /** Done at the platform, but the store would not take it: never sent again by this process. */
  readonly settled: Map<string, readonly Op[]>;
  readonly outages: Outages;
  busy: boolean;
  again: boolean;
  sweepDue: boolean;
  /** One for each moment at which something becomes due. */
  readonly alarms: Map<number, NodeJS.Timeout>;
}

export function createOutbox(deps: OutboxDeps): Outbox {
  const { store, log, now } = deps;
  const lines = new Map<string, Line>();
  const handled = new Set<Promise<void>>();
  const stop = new AbortController();
  let stopping = false;

  const lineOf = (channel: string): Line => {
    let line = lines.get(channel);
    if (line === undefined) {
      line = {
        channel,
        queue: store.queue(outboxOf(channel)),
        onWire: new Set(),
        settled: new Map(),
        outages: createOutages(),
        alarms: new Map(),
        busy: false,
        again: false,
        sweepDue: false,
      };
      lines.set(channel, line);
    }
    return line;
  };
  const ready = (line: Line) => deps.live().channels.get(line.channel)?.state === "ready";
  const isOld = (entry: OutboxEntry) => entry.at + deps.ttlMs <= now();

  /** Sweeping and claiming take turns: nothing is let go for its age while it is being claimed. */
  async function work(line: Line): Promise<void> {
    if (line.busy) {
      line.again = true;
      return;
    }
    line.busy = true;
    try {
      do {
        line.again = false;
        if (line.sweepDue) {
          line.sweepDue = false;
          await expire(line);
        }
        const free = PARALLEL - line.onWire.size;
        if (stopping || free <= 0 || !ready(line) || (await line.queue.size()) <= line.onWire.size) continue;
        for (const item of await line.queue.claim(free, LEASE_MS)) if (!line.onWire.has(item.id)) begin(line, item);
      } while (line.again && !stopping);
    } catch (error) {
      log.error({ channel: line.channel, err: error }, "the outbox could not be read; tried again within a minute");
    } finally {
      line.busy = false;
    }
  }

  function begin(line: Line, item: Claimed<OutboxEntry>): void {
    line.onWire.add(item.id);
    const done = handle(line, item)
      .catch((error) => {
        line.onWire.delete(item.id);
        log.error({ channel: line.channel, delivery: item.id, err: error }, "a delivery could not be put forward; it stays in the outbox");
      })
      .finally(() => {
        handled.delete(done);
        void work(line);
      });
    handled.add(done);
  }

  async function handle(line: Line, { id, value: entry, redelivered }: Claimed<OutboxEntry>): Promise<void> {
    const earlier = line.settled.get(id);
    if (earlier !== undefined) return close(line, id, earlier);
    const ops = [complete(outboxOf(line.channel), id), deps.book.forget(entry.progress)];
    if (isOld(entry)) {
      await close(line, id, ops);
      return deps.failed([entry], "expired", expiredText(1, line.channel));
    }
    const provided = deps.live().channels.get(line.channel);
    if (provided === undefined) return giveBack(line, entry, 0);
    const carried = await deliverEntry(entry, redelivered, provided, { ...deps, stop: stop.signal });
    if (carried.kind === "sent") {
      await close(line, id, ops);
      deps.sent(entry, carried.ids);
      return hasten(line, line.outages.passed(entry));
    }
    if (carried.kind === "failed") {
      await close(line, id, ops);
      return deps.failed([entry], "refused", carried.reason);
    }
    const { refusal, counts } = carried;
    if (refusal !== undefined) deps.delayed(entry, refusal);
    const tries = entry.tries + (counts === "try" ? 1 : 0);
    const doubts = (entry.doubts ?? 0) + (counts === "doubt" ? 1 : 0);
    const reason = refusal?.reason ?? "no answer";
    if (tries >= deps.maxTries) {
      await close(line, id, ops);
      return deps.failed([entry], "refused", `given up after ${tries} tries: ${reason}`);
    }
    if (doubts >= deps.maxDoubts) {
      await close(line, id, ops);
      return deps.failed([entry], "uncertain", `sent ${doubts} times without an answer of the platform: ${reason}`);
    }
    if (counts !== "nothing") line.outages.failed(entry);
    // What waits longer expires before.
    await giveBack(line, { ...entry, tries, ...(doubts > 0 ? { doubts } : {}) }, stopping ? 0 : Math.min(carried.waitMs, deps.ttlMs));
  }

  /** The account answers again: what waited for that need not wait any longer. */
  async function hasten(line: Line, ids: readonly string[]): Promise<void> {
    for (const id of ids) if (!line.onWire.has(id) && !stopping) await line.queue.release(id, 0);
  }

  async function giveBack(line: Line, entry: OutboxEntry, waitMs: number): Promise<void> {
    const { id } = entry.delivery;
    // First, because it may be claimed again the moment it is released.
    line.onWire.delete(id);
    await line.queue.release(id, waitMs, entry);
    wakeIn(line, waitMs);
  }

  async function close(line: Line, id: string, ops: readonly Op[]): Promise<void> {
    try {
      await store.commit(ops);
      line.settled.delete(id);
    } catch (error) {
      line.settled.set(id, ops);
      log.error({ channel: line.channel, err: error }, "the end of a delivery was not stored; after a crash it may be sent twice");
    }
    line.onWire.delete(id);
  }

  async function expire(line: Line): Promise<void> {
    const expired: OutboxEntry[] = [];
    for (;;) {
      const page = await line.queue.list(PAGE);
      const old = page.filter(({ id, value }) => isOld(value) && !line.onWire.has(id) && !line.settled.has(id));
      if (old.length > 0) await store.commit(old.flatMap(({ id, value }) => [complete(outboxOf(line.channel), id), deps.book.forget(value.progress)]));
      expired.push(...old.map(({ value }) => value));
      // Nothing is given back for longer than an entry lives: such a pause comes from a clock that was set.
      for (const { id, dueAt } of page) if (dueAt - now() > deps.ttlMs && !line.onWire.has(id)) await line.queue.release(id, 0);
      if (page.length === PAGE && old.length > 0) continue;
      const next = Math.min(...page.filter(({ dueAt }) => dueAt > now() && dueAt - now() <= deps.ttlMs).map(({ dueAt }) => dueAt));
      if (Number.isFinite(next)) wakeIn(line, next - now());
      break;
    }
    if (expired.length > 0) deps.failed(expired, "expired", expiredText(expired.length, line.channel));
  }

  const expiredText = (count: number, channel: string) =>
    `${count} ${count === 1 ? "delivery" : "deliveries"} on ${channel} older than ${Math.round(deps.ttlMs / 60_000)} minutes expired unsent`;

  const wakeIn = (line: Line, ms: number) => wakeAt(line, now() + ms);

  function wakeAt(line: Line, at: number): void {
    if (stopping || line.alarms.has(at)) return;
    const alarm = setTimeout(
      () => {
        line.alarms.delete(at);
        // Timers may be a moment early, and then nothing would be due yet.
        if (now() < at) wakeAt(line, at);
        else void work(line);
      },
      Math.min(Math.max(0, at - now()), LONGEST_TIMER_MS),
    );
    alarm.unref();
    line.alarms.set(at, alarm);
  }

  return {
    wake: (channel) => void work(lineOf(channel)),
    sweep(channel) {
      const line = lineOf(channel);
      line.sweepDue = true;
      void work(line);
    },
    async stop(graceMs) {
      stopping = true;
      for (const line of lines.values()) for (const alarm of line.alarms.values()) clearTimeout(alarm);
      const grace = setTimeout(() => stop.abort(), graceMs);
      await Promise.all(handled);
      clearTimeout(grace);
    },
  };
}
