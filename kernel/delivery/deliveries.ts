import { randomUUID } from "node:crypto";
import { codeOf, type Delivery, type DraftDelivery, type Inbound, type Log, type Op, type Target } from "@svc/sdk";
import { whyNoChoices } from "@svc/sdk/host";
import type { ChannelRender } from "../base/channel-render.ts";
import { fail } from "../base/errors.ts";
import type { Deliveries, DeliveriesDeps, ReplyStream } from "../core/flow/deliveries-port.ts";
import type { ProvidedChannel } from "../core/host/scope.ts";
import { type Acknowledgements, createAcknowledgements } from "./acknowledgements.ts";
import { createChannelCalls } from "./channel-calls.ts";
import { type ChoiceBook, createChoiceBook } from "./choice-book.ts";
import { DEFAULTS, type DeliveryLimits } from "./delivery-limits.ts";
import { createStream } from "./growing-reply.ts";
import { attendOthers } from "./other-daemons.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { conversationKey, idOfKey, type OutboxEntry, onceFor, outboxOf, sealEntry } from "./outbox-entry.ts";
import { createOutboxReport } from "./outbox-report.ts";
import { createPace, type Pace } from "./pace.ts";
import { partsOf } from "./parts.ts";
import { createProgressBook, type ProgressBook } from "./progress.ts";
import { createWithheldBook, type WithheldBook } from "./withheld.ts";

/** Dependencies of the deliveries, with limits that only tests and embedding programs set. */
export interface OutgoingDeps extends DeliveriesDeps {
  /** Called once for each delivery the platform refused for good, and once for all that expired together. */
  failed?(deliveries: readonly Delivery[], reason: string): void;
  readonly limits?: Partial<DeliveryLimits>;
}

const SWEEP_EVERY_MS = 60_000;
/** Number of sweeps of the outbox between two sweeps of progress left by turns that were cancelled while their answer grew. */
const BOOK_SWEEP = 60;

interface Waiter {
  resolve(receipt: { readonly platformId: string }): void;
  reject(error: Error): void;
}

/** Creates the outgoing deliveries of every channel; see `ChannelDeliveries`. */
export const createDeliveries = (deps: OutgoingDeps): Deliveries => new ChannelDeliveries(deps);

/** The outbox of every channel, replies that grow, and withheld deliveries. Sends nothing before `start`. */
export class ChannelDeliveries implements Deliveries {
  readonly withheld: WithheldBook;
  readonly choices: ChoiceBook;
  readonly #acks: Acknowledgements;
  readonly #deps: OutgoingDeps;
  readonly #limits: DeliveryLimits;
  readonly #pace: Pace;
  readonly #book: ProgressBook;
  readonly #outbox: Outbox;
  readonly #waiters = new Map<string, Waiter>();
  readonly #streams = new Set<ReplyStream>();
  /** Aborts sends outside of the outbox. */
  readonly #cut = new AbortController();
  #sweeper: NodeJS.Timeout | undefined;
  #state: "idle" | "running" | "stopped" = "idle";

  constructor(deps: OutgoingDeps) {
    const { store, bus, log, live, now, render, mayLeave } = deps;
    const limits: DeliveryLimits = { ...DEFAULTS, ...deps.limits };
    const pace = createPace(now, Math.random, limits.backoff);
    const book = createProgressBook(store, now);
    const { ttlMinutes, maxTries, maxDoubts, withheldHours, backoff } = limits;
    const report = createOutboxReport({
      bus,
      log,
      now,
      ttlMinutes,
      settle: (id, end) => this.#settle(id, end),
      expired: (entries) => this.#apologise(entries, (count) => expiredNotice(count, ttlMinutes)),
      ...(deps.failed === undefined ? {} : { failed: deps.failed }),
    });
    const leaving = mayLeave === undefined ? {} : { mayLeave };
    this.#deps = deps;
    this.#limits = limits;
    this.#pace = pace;
    this.#book = book;
    this.choices = createChoiceBook({
      store,
      bus,
      log,
      book,
      now,
      live,
      wake: (channel) => this.#wake(channel),
      send: (delivery) => this.send(delivery),
    });
    const { choices } = this;
    this.#acks = createAcknowledgements({ store, log, pace, backoff, now, live });
    this.#outbox = createOutbox({
      store,
      log,
      pace,
      book,
      choices,
      now,
      live,
      render,
      ...leaving,
      backoff,
      ttlMs: ttlMinutes * 60_000,
      maxTries,
      maxDoubts,
      ...report,
    });
    this.withheld = createWithheldBook({
      store,
      bus,
      log,
      book,
      now,
      live,
      ttlMs: withheldHours * 3_600_000,
      most: limits.maxQueued,
      push: (entry) => choices.push(entry),
      released: (delivery) => this.committed(delivery),
      refusal: (entry) => this.#refusal(entry),
      expired: (entries) => {
        report.withheldExpired(entries);
        this.#apologise(entries, (count) => undecidedNotice(count, withheldHours));
      },
    });
  }

  reaches(target: Target): boolean {
    return this.#deps.live().channels.has(target.channel);
  }

  ops(delivery: Delivery, unjudged = false): readonly Op[] {
    return this.#ops(delivery, delivery.taskId ?? delivery.id, unjudged);
  }

  committed(delivery: Delivery): void {
    if (delivery.held === undefined) this.#wake(delivery.target.channel);
    else this.withheld.kept(delivery);
  }

  open(target: Target, taskId: string, agent: string): ReplyStream | undefined {
    const { live, log, render } = this.#deps;
    const provided = this.#state === "running" ? live().channels.get(target.channel) : undefined;
    if (provided?.state !== "ready") return undefined;
    const { typing, edit, traits } = provided.thing;
    if (typing === undefined && (edit === undefined || traits.editIntervalMs === undefined)) return undefined;
    const deps = { pace: this.#pace, book: this.#book, log, render, behind: this.#outbox.holds, graceMs: this.#limits.stopGraceMs, agent };
    const inner = createStream(target, taskId, provided, deps);
    const stream: ReplyStream = { text: inner.text, end: () => inner.end().finally(() => this.#streams.delete(stream)) };
    this.#streams.add(stream);
    return stream;
  }

  async send({ key, ...draft }: DraftDelivery): Promise<{ readonly id: string; readonly sent: Promise<{ readonly platformId: string }> }> {
    const { store, live } = this.#deps;
    const { channel } = draft.target;
    if (!live().channels.has(channel)) throw fail("SVC_CHANNEL_UNKNOWN", { channel });
    const reason = draft.choices === undefined ? undefined : whyNoChoices(draft.choices);
    if (reason !== undefined) throw fail("SVC_DELIVERY_CHOICES", { reason });
    await this.#requireRoom(channel, this.unsent(channel));
    const delivery = await live().hooks.deliver({ ...draft, id: key === undefined ? `out_${randomUUID()}` : idOfKey(key) });
    const { id, held } = delivery;
    if (held !== undefined) await this.#requireRoom(channel, this.withheld.count());
    const known = () => Promise.reject(fail("SVC_DELIVERY_KNOWN", { delivery: id }));
    // An earlier caller waits for the same delivery.
    const waited = this.#waiters.has(id);
    const sent = waited ? known() : new Promise<{ readonly platformId: string }>((resolve, reject) => this.#waiters.set(id, { resolve, reject }));
    // Callers may ignore how a delivery ends: avoid an unhandled rejection.
    sent.catch(() => {});
    try {
      await store.commit(onceFor(key, this.#ops(delivery, id)));
    } catch (error) {
      if (!waited) this.#waiters.delete(id);
      if (key === undefined || codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      const again = known();
      again.catch(() => {});
      return { id, sent: again };
    }
    this.committed(delivery);
    if (held !== undefined) this.#settle(id, fail("SVC_DELIVERY_HELD", { channel, reason: held }));
    return { id, sent };
  }

  unsent(channel: string): Promise<number> {
    return this.#deps.store.queue(outboxOf(channel)).size();
  }

  async tell({ id, target, text, agent }: Delivery): Promise<void> {
    const { live, log, render } = this.#deps;
    const provided = live().channels.get(target.channel);
    if (this.#state !== "running" || provided?.state !== "ready" || this.#pace.wait(target) > 0) return;
    if (await sendNow({ id, target, text, ...(agent === undefined ? {} : { agent }) }, provided, { log, render, stop: this.#cut.signal }))
      this.#pace.passed(target, 0);
  }

  accepting(inbound: Inbound): readonly Op[] {
    return this.#acks.ops(inbound);
  }

  accepted({ channel }: Inbound): void {
    if (this.#state === "running" && this.#deps.live().channels.get(channel)?.thing.traits.ack !== undefined) this.#acks.soon(channel);
  }

  channelState({ thing: channel, state }: ProvidedChannel): void {
    if (state !== "ready" || this.#state !== "running") return;
    this.#outbox.sweep(channel.name);
    this.#acks.wake(channel.name);
  }

  async start(): Promise<void> {
    await this.#book.sweep();
    await this.choices.sweep();
    this.#state = "running";
    let sweeps = 0;
    const sweep = () => {
      for (const channel of this.#deps.live().channels.keys()) {
        this.#outbox.sweep(channel);
        this.#acks.wake(channel);
      }
      void this.withheld.sweep();
      if ((sweeps += 1) % BOOK_SWEEP === 0)
        Promise.all([this.#book.sweep(), this.choices.sweep()]).catch((error) =>
          this.#deps.log.warn({ err: error }, "the progress and the choices of old deliveries were not removed"),
        );
    };
    this.#sweeper = setInterval(sweep, SWEEP_EVERY_MS).unref();
    sweep();
    attendOthers(this.#deps, this.#cut.signal, this.#limits.ttlMinutes, (channel) => this.#wake(channel), this.#settle.bind(this));
  }

  async stop(): Promise<void> {
    this.#state = "stopped";
    clearInterval(this.#sweeper);
    await Promise.all([...this.#streams].map((stream) => stream.end()));
    await Promise.all([this.#outbox, this.#acks].map((one) => one.stop(this.#limits.stopGraceMs)));
    this.#cut.abort();
    for (const id of [...this.#waiters.keys()]) this.#settle(id, fail("SVC_DELIVERY_PENDING", { delivery: id }));
  }

  async #requireRoom(channel: string, size: Promise<number>): Promise<void> {
    const limit = this.#limits.maxQueued;
    if ((await size) >= limit) throw fail("SVC_OUTBOX_FULL", { channel, limit });
  }

  #settle(id: string, end: { readonly platformId: string } | Error): void {
    const waiter = this.#waiters.get(id);
    this.#waiters.delete(id);
    if (end instanceof Error) waiter?.reject(end);
    else waiter?.resolve(end);
  }

  #wake(channel: string): void {
    if (this.#state === "running") this.#outbox.wake(channel);
  }

  #ops(delivery: Delivery, progress: string, unjudged = false): readonly Op[] {
    const { bus, now } = this.#deps;
    const rootId = bus.current()?.rootId;
    const entry = sealEntry(delivery, { at: now(), progress, ...(rootId === undefined ? {} : { rootId }) });
    if (delivery.held !== undefined) return [this.withheld.op(entry, unjudged)];
    // Behind the commit, which follows at once.
    queueMicrotask(() => this.#state === "running" && this.#outbox.expect(delivery.target.channel));
    return this.choices.push(entry);
  }

  /** Notifies the senders of answers that were given up, once per chat. Proactive deliveries and notices are dropped silently. */
  #apologise(entries: readonly OutboxEntry[], text: (count: number) => string): void {
    const chats = new Map<string, { readonly first: OutboxEntry; count: number }>();
    for (const entry of entries) {
      const { kind, target } = entry.delivery;
      if (kind !== "reply" || !this.reaches(target)) continue;
      const key = JSON.stringify([target.channel, conversationKey(target)]);
      const known = chats.get(key);
      if (known === undefined) chats.set(key, { first: entry, count: 1 });
      else known.count += 1;
    }
    void this.#tellEach([...chats.values()], text).catch((error) => this.#deps.log.error({ err: error }, "that answers expired was not told to their askers"));
  }

  async #tellEach(chats: readonly { readonly first: OutboxEntry; readonly count: number }[], text: (count: number) => string): Promise<void> {
    for (const { first, count } of chats) {
      const notice = await this.#noticeFor(first, text(count));
      await this.#deps.store.commit(this.#ops(notice, notice.id));
      this.committed(notice);
    }
  }

  /** The asker of an answer that is not released reads so: the reason is for the record. */
  async #refusal(entry: OutboxEntry): Promise<{ readonly notice: Delivery; readonly ops: readonly Op[] } | undefined> {
    const { kind, target } = entry.delivery;
    if (kind !== "reply" || !this.reaches(target)) return undefined;
    const notice = await this.#noticeFor(entry, REFUSED).catch(() => undefined);
    return notice === undefined ? undefined : { notice, ops: this.#ops(notice, notice.id) };
  }

  #noticeFor({ delivery }: OutboxEntry, text: string): Promise<Delivery> {
    const { id: _id, media: _media, held: _held, choices: _choices, ...rest } = delivery;
    return (async () => this.#deps.live().hooks.deliver({ ...rest, kind: "notice", id: `out_${randomUUID()}`, text }))();
  }
}

/** One try to say something past the outbox, of which nothing is kept. True when it was said; never rejects. */
async function sendNow(
  { id, target, text, agent }: Pick<Delivery, "id" | "target" | "text" | "agent">,
  provided: ProvidedChannel,
  { log, render, stop }: { readonly log: Log; readonly render: () => ChannelRender; readonly stop: AbortSignal },
): Promise<boolean> {
  const unsaid = (facts: object) => log.warn({ channel: target.channel, ...facts }, "a notice that could not be stored was not sent either");
  try {
    const [part] = partsOf(text, provided.thing.traits, render());
    if (part === undefined) return false;
    const answer = await createChannelCalls(provided, stop).send({ target, ...part, key: `${id}/0`, ...(agent === undefined ? {} : { agent }) });
    if (!answer.ok) unsaid({ reason: answer.reason });
    return answer.ok;
  } catch (error) {
    unsaid({ err: error });
    return false;
  }
}

/** Notice in place of answers that could not be sent in time. */
const expiredNotice = (count: number, minutes: number): string =>
  count === 1
    ? `My answer could not be sent here within ${minutes} minutes and was given up. Please ask again if you still need it.`
    : `${count} of my answers could not be sent here within ${minutes} minutes and were given up. Please ask again if you still need them.`;

/** Notice in place of an answer whose release was refused. */
const REFUSED = "My answer was held back, and it was decided not to send it.";

/** Notice in place of answers that were withheld and never released. */
const undecidedNotice = (count: number, hours: number): string =>
  `${count === 1 ? "My answer was" : `${count} of my answers were`} held back for a decision that did not come within ${hours} hours. Please ask again if you still need ${count === 1 ? "it" : "them"}.`;
