import { randomUUID } from "node:crypto";
import type { Delivery, Log, Store } from "@svc/sdk";
import type { ChannelRender } from "../../../base/channel-render.ts";
import { fail } from "../../../base/errors.ts";
import type { Bus } from "../../bus/bus.ts";
import type { Live } from "../../host/live.ts";
import { createChannelCalls } from "./channel-calls.ts";
import type { Deliveries, ReplyStream } from "./deliveries-port.ts";
import { createStream } from "./growing-reply.ts";
import { createOutbox, type Failure } from "./outbox.ts";
import { type OutboxEntry, openEntry, outboxOf, placeOf, pushEntry, sealEntry } from "./outbox-entry.ts";
import { backoffMs, createPace } from "./pace.ts";
import { partsOf } from "./parts.ts";
import { createProgressBook } from "./progress.ts";

export interface DeliveriesDeps {
  readonly store: Store;
  readonly bus: Pick<Bus, "publish" | "current" | "within">;
  readonly log: Log;
  live(): Live;
  render(): ChannelRender;
  /** False for the daemon's own files: no plugin has them sent away. */
  mayLeave?(path: string): boolean;
  /** Told once for each delivery the platform refused for good, and once for all that expired together. */
  failed?(deliveries: readonly Delivery[], reason: string): void;
  /** Milliseconds that run evenly, over restarts too, such as the store's steady ones. */
  readonly now: () => number;
  readonly limits?: Partial<DeliveryLimits>;
}

export interface DeliveryLimits {
  /** Minutes after which what could not be sent is given up; default 60. */
  readonly ttlMinutes: number;
  /** Sends that may fail before a delivery is given up; waiting for a rate limit does not count. Default 10. */
  readonly maxTries: number;
  /** Sends that may have arrived, on a platform that cannot tell a repeated one, before a delivery is given up; default 3. */
  readonly maxDoubts: number;
  /** Unsent deliveries of a channel after which `send` refuses with `SVC_OUTBOX_FULL`; answers of tasks are always taken. Default 5,000. */
  readonly maxQueued: number;
  /** Milliseconds that an end gives to what is in flight before it cuts it; default 5,000. */
  readonly stopGraceMs: number;
  /** The pause after a failure, by the tries before it. */
  readonly backoff: (tries: number) => number;
}

/** Words for the log. */
const GIVEN_UP: Readonly<Record<Failure, string>> = {
  refused: "a delivery failed for good",
  expired: "deliveries expired",
  uncertain: "a delivery is given up after doubtful sends: the platform may have taken it",
};

const SWEEP_EVERY_MS = 60_000;
/** After so many sweeps of the outbox, one of what turns left that were cancelled while their answer grew. */
const BOOK_SWEEP = 60;
/** One event for a rate limit, however often the platform repeats it; again after as long a silence. */
const THROTTLE_NEWS_MS = 600_000;
const HELD_KEPT = 1_000;

interface Waiter {
  resolve(receipt: { readonly platformId: string }): void;
  reject(error: Error): void;
}

/** Everything that goes out, on every channel. Nothing moves before `start`. */
export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { store, bus, log, live, now } = deps;
  const limits: DeliveryLimits = { ttlMinutes: 60, maxTries: 10, maxDoubts: 3, maxQueued: 5_000, stopGraceMs: 5_000, backoff: backoffMs, ...deps.limits };
  const pace = createPace(now, Math.random, limits.backoff);
  const book = createProgressBook(store, now);
  const held = store.journal<{ id: string; channel: string; reason: string }>("outbox-held");
  const waiters = new Map<string, Waiter>();
  const streams = new Set<ReplyStream>();
  /** Ends what is said past the outbox. */
  const cut = new AbortController();
  const throttledAt = new Map<string, number>();
  let sweeper: NodeJS.Timeout | undefined;
  let state: "idle" | "running" | "stopped" = "idle";

  const outbox = createOutbox({
    store,
    log,
    pace,
    book,
    now,
    live,
    render: deps.render,
    ...(deps.mayLeave === undefined ? {} : { mayLeave: deps.mayLeave }),
    backoff: limits.backoff,
    ttlMs: limits.ttlMinutes * 60_000,
    maxTries: limits.maxTries,
    maxDoubts: limits.maxDoubts,
    sent(entry, ids) {
      const { id, target, agent, taskId, kind } = entry.delivery;
      const platformId = ids[0] ?? "";
      inRoot(entry, () =>
        bus.publish({
          kind: "channel",
          type: "out",
          summary: `${kind} sent on ${target.channel}`,
          ref: platformId,
          ...(agent === undefined ? {} : { agentId: agent }),
          data: { channel: target.channel, delivery: id, messages: ids.length, ...(taskId === undefined ? {} : { taskId }) },
        }),
      );
      settle(id, (waiter) => waiter.resolve({ platformId }));
    },
    failed(entries, why, reason) {
      const first = entries[0] as OutboxEntry;
      const { channel } = first.delivery.target;
      log.warn({ channel, count: entries.length, delivery: first.delivery.id, reason }, GIVEN_UP[why]);
      const { taskId } = first.delivery;
      const one = entries.length === 1 ? { delivery: first.delivery.id, ...(taskId === undefined ? {} : { taskId }) } : {};
      const facts =
        why === "uncertain"
          ? { kind: "channel", type: "delivery:uncertain", data: { channel, ...one } }
          : { kind: "status", type: "status", data: { state: `delivery-${why}`, channel, count: entries.length, ...one } };
      const text =
        why === "expired" ? reason : why === "refused" ? `a delivery on ${channel} failed for good` : `nobody knows whether a delivery on ${channel} arrived`;
      if (entries.length === 1) inRoot(first, () => bus.publish({ ...facts, summary: text }));
      else bus.publish({ ...facts, summary: text });
      const error =
        why === "expired"
          ? fail("SVC_DELIVERY_EXPIRED", { channel, minutes: limits.ttlMinutes })
          : fail(why === "refused" ? "SVC_CHANNEL_REFUSED" : "SVC_DELIVERY_UNCERTAIN", { channel, reason });
      for (const { delivery } of entries) settle(delivery.id, (waiter) => waiter.reject(error));
      if (why === "expired")
        apologise(entries).catch((failure) => log.error({ channel, err: failure }, "that answers expired was not told to those who wait for them"));
      deps.failed?.(entries.map(openEntry), reason);
    },
    delayed({ delivery }, { retryAfterMs }) {
      if (retryAfterMs === undefined) return;
      const { channel } = delivery.target;
      const since = throttledAt.get(channel) ?? Number.NEGATIVE_INFINITY;
      throttledAt.set(channel, now());
      if (now() - since < THROTTLE_NEWS_MS) return;
      log.warn({ channel, retryAfterMs }, "the platform limits our rate; deliveries wait");
      bus.publish({ kind: "status", type: "status", summary: `${channel} limits our rate; deliveries wait`, data: { state: "channel-throttled", channel } });
    },
  });

  const inRoot = (entry: OutboxEntry, publish: () => void) => (entry.rootId === undefined ? publish() : bus.within({ rootId: entry.rootId }, publish));

  function settle(id: string, end: (waiter: Waiter) => void): void {
    const waiter = waiters.get(id);
    waiters.delete(id);
    if (waiter !== undefined) end(waiter);
  }

  function seal(delivery: Delivery, progress: string): OutboxEntry {
    const rootId = bus.current()?.rootId;
    return sealEntry(delivery, { at: now(), progress, ...(rootId === undefined ? {} : { rootId }) });
  }

  /** Who asked hears that the answer was given up: once a chat. What nobody asked for goes in silence. */
  async function apologise(entries: readonly OutboxEntry[]): Promise<void> {
    const places = new Map<string, { readonly first: OutboxEntry; count: number }>();
    for (const entry of entries) {
      if (entry.delivery.kind !== "reply") continue;
      const place = placeOf(entry.delivery.target);
      const known = places.get(place);
      if (known === undefined) places.set(place, { first: entry, count: 1 });
      else known.count += 1;
    }
    for (const { first, count } of places.values()) {
      const { id: _id, media: _media, ...rest } = first.delivery;
      const notice = await live().hooks.deliver({ ...rest, kind: "notice", id: `out_${randomUUID()}`, text: expiredNotice(count, limits.ttlMinutes) });
      if (notice.held !== undefined) continue;
      await store.commit([pushEntry(seal(notice, notice.id))]);
      wake(notice.target.channel);
    }
  }

  const wake = (channel: string) => {
    if (state === "running") outbox.wake(channel);
  };

  return {
    reaches: (target) => live().channels.has(target.channel),
    ops: (delivery) => [pushEntry(seal(delivery, delivery.taskId ?? delivery.id))],
    committed: (delivery) => wake(delivery.target.channel),
    open(target, taskId) {
      const provided = live().channels.get(target.channel);
      if (provided?.state !== "ready" || state !== "running") return undefined;
      const { thing: channel } = provided;
      if (channel.typing === undefined && (channel.edit === undefined || channel.traits.editIntervalMs === undefined)) return undefined;
      const inner = createStream(target, taskId, provided, { pace, book, log, render: deps.render, graceMs: limits.stopGraceMs });
      const stream: ReplyStream = {
        text: inner.text,
        async end() {
          await inner.end();
          streams.delete(stream);
        },
      };
      streams.add(stream);
      return stream;
    },
    async send(draft) {
      const { channel } = draft.target;
      if (!live().channels.has(channel)) throw fail("SVC_CHANNEL_UNKNOWN", { channel });
      if ((await store.queue(outboxOf(channel)).size()) >= limits.maxQueued) throw fail("SVC_OUTBOX_FULL", { channel, limit: limits.maxQueued });
      const delivery = await live().hooks.deliver({ ...draft, id: `out_${randomUUID()}` });
      const { id } = delivery;
      if (delivery.held !== undefined) {
        await held.append({ id, channel, reason: delivery.held });
        await held.trim(HELD_KEPT);
        return { id, sent: unheard(Promise.reject(fail("SVC_DELIVERY_HELD", { channel, reason: delivery.held }))) };
      }
      const sent = unheard(new Promise<{ readonly platformId: string }>((resolve, reject) => waiters.set(id, { resolve, reject })));
      try {
        await store.commit([pushEntry(seal(delivery, id))]);
      } catch (error) {
        waiters.delete(id);
        throw error;
      }
      wake(delivery.target.channel);
      return { id, sent };
    },
    async tell({ id, target, text }) {
      const provided = live().channels.get(target.channel);
      if (state !== "running" || provided?.state !== "ready" || pace.wait(target) > 0) return;
      try {
        const [part] = partsOf(text, provided.thing.traits, deps.render());
        if (part === undefined) return;
        const answer = await createChannelCalls(provided, cut.signal).send({ target, ...part, key: `${id}/0` });
        if (answer.ok) pace.passed(target, 0);
        else log.warn({ channel: target.channel, reason: answer.reason }, "a notice that could not be stored was not sent either");
      } catch (error) {
        log.warn({ channel: target.channel, err: error }, "a notice that could not be stored was not sent either");
      }
    },
    channelState({ thing: channel, state: connection }) {
      if (connection === "ready" && state === "running") outbox.sweep(channel.name);
    },
    async start() {
      await book.sweep();
      state = "running";
      let sweeps = 0;
      const sweep = () => {
        for (const channel of live().channels.keys()) outbox.sweep(channel);
        sweeps += 1;
        if (sweeps % BOOK_SWEEP === 0) book.sweep().catch((error) => log.warn({ err: error }, "the progress of old deliveries was not removed"));
      };
      sweeper = setInterval(sweep, SWEEP_EVERY_MS);
      sweeper.unref();
      sweep();
    },
    async stop() {
      state = "stopped";
      clearInterval(sweeper);
      await Promise.all([...streams].map((stream) => stream.end()));
      await outbox.stop(limits.stopGraceMs);
      cut.abort();
      for (const id of [...waiters.keys()]) settle(id, (waiter) => waiter.reject(fail("SVC_DELIVERY_PENDING", { delivery: id })));
    },
  };
}

/** What a person reads in place of answers that could not be sent in time. */
const expiredNotice = (count: number, minutes: number): string =>
  count === 1
    ? `My answer could not be sent here within ${minutes} minutes and was given up. Please ask again if you still need it.`
    : `${count} of my answers could not be sent here within ${minutes} minutes and were given up. Please ask again if you still need them.`;

/** Nobody has to listen to how a delivery ends. */
function unheard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
