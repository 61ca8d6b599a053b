import { randomUUID } from "node:crypto";
import type { Delivery, Log, Op } from "@svc/sdk";
import type { ChannelRender } from "../base/channel-render.ts";
import { fail } from "../base/errors.ts";
import type { Deliveries, DeliveriesDeps, ReplyStream } from "../core/flow/deliveries-port.ts";
import type { ProvidedChannel } from "../core/host/scope.ts";
import { createChannelCalls } from "./channel-calls.ts";
import { createStream } from "./growing-reply.ts";
import { createOutbox } from "./outbox.ts";
import { conversationKey, type OutboxEntry, outboxOf, pushEntry, sealEntry } from "./outbox-entry.ts";
import { createOutboxReport } from "./outbox-report.ts";
import { backoffMs, createPace } from "./pace.ts";
import { partsOf } from "./parts.ts";
import { createProgressBook } from "./progress.ts";
import { createWithheldBook } from "./withheld.ts";

/** What the deliveries are built from, with what only tests and embedding programs set. */
export interface OutgoingDeps extends DeliveriesDeps {
  /** Called once for each delivery the platform refused for good, and once for all that expired together. */
  failed?(deliveries: readonly Delivery[], reason: string): void;
  readonly limits?: Partial<DeliveryLimits>;
}

/** How long and how often a delivery is tried. */
export interface DeliveryLimits {
  /** Minutes after which what could not be sent is given up; default 60. */
  readonly ttlMinutes: number;
  /** Sends that may fail before a delivery is given up; waiting for a rate limit does not count. Default 10. */
  readonly maxTries: number;
  /** Sends that may have arrived, on a platform that cannot tell a repeated one, before a delivery is given up; default 3. */
  readonly maxDoubts: number;
  /**
   * Unsent deliveries of a channel, or withheld ones in all, after which `send` refuses with `SVC_OUTBOX_FULL`; answers of tasks are always
   * taken, and of withheld ones the oldest then expire. Default 5,000.
   */
  readonly maxQueued: number;
  /** Hours after which a withheld delivery that nobody has decided about expires; default 168. */
  readonly withheldHours: number;
  /** Milliseconds that an end gives to what is in flight before it cuts it; default 5,000. */
  readonly stopGraceMs: number;
  /** The pause after a failure, by the tries before it. */
  readonly backoff: (tries: number) => number;
}

const SWEEP_EVERY_MS = 60_000;
/** After so many sweeps of the outbox, one of what turns left that were cancelled while their answer grew. */
const BOOK_SWEEP = 60;
interface Waiter {
  resolve(receipt: { readonly platformId: string }): void;
  reject(error: Error): void;
}

const DEFAULTS: DeliveryLimits = { ttlMinutes: 60, maxTries: 10, maxDoubts: 3, maxQueued: 5_000, withheldHours: 168, stopGraceMs: 5_000, backoff: backoffMs };

/** Everything that goes out, on every channel. Nothing moves before `start`. */
export function createDeliveries(deps: OutgoingDeps): Deliveries {
  const { store, bus, log, live, now } = deps;
  const limits: DeliveryLimits = { ...DEFAULTS, ...deps.limits };
  const pace = createPace(now, Math.random, limits.backoff);
  const book = createProgressBook(store, now);
  const waiters = new Map<string, Waiter>();
  const streams = new Set<ReplyStream>();
  /** Ends what is said past the outbox. */
  const cut = new AbortController();
  let sweeper: NodeJS.Timeout | undefined;
  let state: "idle" | "running" | "stopped" = "idle";

  const apologies = (text: (count: number) => string) => (entries: readonly OutboxEntry[]) =>
    void apologise(entries, text).catch((failure) => log.error({ err: failure }, "that answers expired was not told to those who wait for them"));
  const report = createOutboxReport({
    bus,
    log,
    now,
    ttlMinutes: limits.ttlMinutes,
    settle,
    expired: apologies((count) => expiredNotice(count, limits.ttlMinutes)),
    ...(deps.failed === undefined ? {} : { failed: deps.failed }),
  });
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
    ...report,
  });
  const withheld = createWithheldBook({
    store,
    bus,
    log,
    book,
    now,
    live,
    ttlMs: limits.withheldHours * 3_600_000,
    most: limits.maxQueued,
    released: ({ target }) => wake(target.channel),
    expired(entries) {
      report.withheldExpired(entries);
      apologies((count) => undecidedNotice(count, limits.withheldHours))(entries);
    },
  });

  function settle(id: string, end: { readonly platformId: string } | Error): void {
    const waiter = waiters.get(id);
    waiters.delete(id);
    if (end instanceof Error) waiter?.reject(end);
    else waiter?.resolve(end);
  }

  function wake(channel: string): void {
    if (state === "running") outbox.wake(channel);
  }

  function ops(delivery: Delivery, progress: string, unjudged = false): readonly Op[] {
    const rootId = bus.current()?.rootId;
    const entry = sealEntry(delivery, { at: now(), progress, ...(rootId === undefined ? {} : { rootId }) });
    return [delivery.held === undefined ? pushEntry(entry) : withheld.op(entry, unjudged)];
  }

  function committed(delivery: Delivery): void {
    if (delivery.held === undefined) wake(delivery.target.channel);
    else withheld.kept(delivery);
  }

  /** The senders of what was given up are told so, once a chat. Proactive deliveries and notices go in silence. */
  async function apologise(entries: readonly OutboxEntry[], text: (count: number) => string): Promise<void> {
    const chats = new Map<string, { readonly first: OutboxEntry; count: number }>();
    for (const entry of entries) {
      if (entry.delivery.kind !== "reply" || !live().channels.has(entry.delivery.target.channel)) continue;
      const key = conversationKey(entry.delivery.target);
      const known = chats.get(key);
      if (known === undefined) chats.set(key, { first: entry, count: 1 });
      else known.count += 1;
    }
    for (const { first, count } of chats.values()) {
      const { id: _id, media: _media, held: _held, ...rest } = first.delivery;
      const notice = await live().hooks.deliver({ ...rest, kind: "notice", id: `out_${randomUUID()}`, text: text(count) });
      await store.commit(ops(notice, notice.id));
      committed(notice);
    }
  }

  function sweep(): void {
    for (const channel of live().channels.keys()) outbox.sweep(channel);
    void withheld.sweep();
  }

  return {
    reaches: (target) => live().channels.has(target.channel),
    ops: (delivery, unjudged) => ops(delivery, delivery.taskId ?? delivery.id, unjudged),
    committed,
    withheld,
    unsent: (channel) => store.queue(outboxOf(channel)).size(),
    open(target, taskId) {
      const provided = live().channels.get(target.channel);
      if (provided?.state !== "ready" || state !== "running") return undefined;
      const { thing: channel } = provided;
      if (channel.typing === undefined && (channel.edit === undefined || channel.traits.editIntervalMs === undefined)) return undefined;
      const inner = createStream(target, taskId, provided, { pace, book, log, render: deps.render, graceMs: limits.stopGraceMs });
      const stream: ReplyStream = { text: inner.text, end: () => inner.end().finally(() => streams.delete(stream)) };
      streams.add(stream);
      return stream;
    },
    async send(draft) {
      const { channel } = draft.target;
      if (!live().channels.has(channel)) throw fail("SVC_CHANNEL_UNKNOWN", { channel });
      const full = async (size: Promise<number>) =>
        (await size) >= limits.maxQueued && Promise.reject(fail("SVC_OUTBOX_FULL", { channel, limit: limits.maxQueued }));
      await full(store.queue(outboxOf(channel)).size());
      const delivery = await live().hooks.deliver({ ...draft, id: `out_${randomUUID()}` });
      const { id, held } = delivery;
      if (held !== undefined) await full(withheld.count());
      const sent = unheard(new Promise<{ readonly platformId: string }>((resolve, reject) => waiters.set(id, { resolve, reject })));
      try {
        await store.commit(ops(delivery, id));
      } catch (error) {
        waiters.delete(id);
        throw error;
      }
      committed(delivery);
      if (held !== undefined) settle(id, fail("SVC_DELIVERY_HELD", { channel, reason: held }));
      return { id, sent };
    },
    async tell({ id, target, text }) {
      const provided = live().channels.get(target.channel);
      if (state !== "running" || provided?.state !== "ready" || pace.wait(target) > 0) return;
      await sendNow({ id, target, text }, provided, { log, render: deps.render, stop: cut.signal }).then((sent) => sent && pace.passed(target, 0));
    },
    channelState({ thing: channel, state: connection }) {
      if (connection === "ready" && state === "running") outbox.sweep(channel.name);
    },
    async start() {
      await book.sweep();
      state = "running";
      let sweeps = 0;
      sweeper = setInterval(() => {
        sweep();
        sweeps += 1;
        if (sweeps % BOOK_SWEEP === 0) book.sweep().catch((error) => log.warn({ err: error }, "the progress of old deliveries was not removed"));
      }, SWEEP_EVERY_MS);
      sweeper.unref();
      sweep();
    },
    async stop() {
      state = "stopped";
      clearInterval(sweeper);
      await Promise.all([...streams].map((stream) => stream.end()));
      await outbox.stop(limits.stopGraceMs);
      cut.abort();
      for (const id of [...waiters.keys()]) settle(id, fail("SVC_DELIVERY_PENDING", { delivery: id }));
    },
  };
}

/** One try to say something past the outbox, of which nothing is kept. True when it was said; never rejects. */
async function sendNow(
  { id, target, text }: Pick<Delivery, "id" | "target" | "text">,
  provided: ProvidedChannel,
  { log, render, stop }: { readonly log: Log; readonly render: () => ChannelRender; readonly stop: AbortSignal },
): Promise<boolean> {
  const unsaid = (facts: object) => log.warn({ channel: target.channel, ...facts }, "a notice that could not be stored was not sent either");
  try {
    const [part] = partsOf(text, provided.thing.traits, render());
    if (part === undefined) return false;
    const answer = await createChannelCalls(provided, stop).send({ target, ...part, key: `${id}/0` });
    if (!answer.ok) unsaid({ reason: answer.reason });
    return answer.ok;
  } catch (error) {
    unsaid({ err: error });
    return false;
  }
}

/** What a person reads in place of answers that could not be sent in time. */
const expiredNotice = (count: number, minutes: number): string =>
  count === 1
    ? `My answer could not be sent here within ${minutes} minutes and was given up. Please ask again if you still need it.`
    : `${count} of my answers could not be sent here within ${minutes} minutes and were given up. Please ask again if you still need them.`;

/** What a person reads in place of answers that were withheld and never released. */
const undecidedNotice = (count: number, hours: number): string =>
  `${count === 1 ? "My answer was" : `${count} of my answers were`} held back for a decision that did not come within ${hours} hours. Please ask again if you still need ${count === 1 ? "it" : "them"}.`;

/** Callers may ignore how a delivery ends: avoid an unhandled rejection. */
function unheard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
