import { type Claimed, complete, type Inbound, type Log, type Op, push, type Store, type Target } from "@svc/sdk";
import type { Live } from "../core/host/live.ts";
import { createChannelCalls } from "./channel-calls.ts";
import { conversationKey } from "./outbox-entry.ts";
import type { Pace } from "./pace.ts";

/** Dependencies of acknowledgements. */
export interface AcknowledgementDeps {
  readonly store: Store;
  readonly log: Log;
  readonly pace: Pace;
  readonly backoff: (tries: number) => number;
  /** The store's steady milliseconds. */
  now(): number;
  live(): Live;
}

/** Messages get the emoji of their channel (`traits.ack`) once they are stored: the commit that stores a message also stores the request for it. */
export interface Acknowledgements {
  ops(inbound: Inbound): readonly Op[];
  /** Something may have become possible on that channel. */
  wake(channel: string): void;
  /** The same in a moment: a quick answer is not kept waiting for the network and the disk by it. */
  soon(channel: string): void;
  /** Starts no more, lets calls in progress finish for `graceMs`, then aborts them. The rest stays for the next start. */
  stop(graceMs: number): Promise<void>;
}

interface Acknowledgement {
  readonly target: Target;
  readonly platformId: string;
  readonly emoji: string;
  readonly at: number;
  readonly tries: number;
}

const PARALLEL = 4;
const LEASE_MS = 60_000;
const CALL_MS = 15_000;
const TRIES = 3;
/** Later it would say nothing that the answer does not. */
const WORTH_MS = 120_000;

/** Too short to be noticed, but long enough for an answer without an engine to complete. */
const MOMENT_MS = 100;

const queueOf = (channel: string): string => `acks/${channel}`;

/** Best effort: a failure is retried a few times within two minutes, at the pace that the platform allows, and never reported. */
export function createAcknowledgements(deps: AcknowledgementDeps): Acknowledgements {
  const { store, log, pace, backoff, now, live } = deps;
  const busy = new Map<string, Promise<void>>();
  const again = new Set<string>();
  /** Channels to be processed on the next timer. */
  const soon = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  const cut = new AbortController();
  let stopping = false;

  function wake(channel: string): void {
    if (stopping) return;
    if (busy.has(channel)) {
      again.add(channel);
      return;
    }
    const work = drain(channel)
      .catch((error) => log.warn({ channel, err: error }, "messages could not be acknowledged"))
      .finally(() => {
        busy.delete(channel);
        if (again.delete(channel)) wake(channel);
      });
    busy.set(channel, work);
  }

  async function drain(channel: string): Promise<void> {
    const queue = store.queue<Acknowledgement>(queueOf(channel));
    while (!stopping && live().channels.get(channel)?.state === "ready") {
      const claimed = await queue.claim(PARALLEL, LEASE_MS);
      if (claimed.length === 0) return;
      await Promise.all(claimed.map((item) => one(channel, item)));
    }
  }

  async function one(channel: string, { id, value }: Claimed<Acknowledgement>): Promise<void> {
    const provided = live().channels.get(channel);
    const left = value.at + WORTH_MS - now();
    const waitMs = pace.wait(value.target);
    if (left <= 0 || waitMs >= left || provided?.thing.react === undefined) return store.commit([complete(queueOf(channel), id)]);
    if (waitMs > 0) return later(channel, id, waitMs, value);
    const answer = await createChannelCalls(provided, cut.signal, CALL_MS).react(value.target, value.platformId, value.emoji);
    if (answer.ok) pace.passed(value.target, 0);
    const limited = !answer.ok && answer.failure === "retry" && answer.retryAfterMs !== undefined;
    if (limited) pace.refused(value.target, answer.retryAfterMs);
    const tries = value.tries + (limited ? 0 : 1);
    if (answer.ok || answer.failure === "permanent" || answer.failure === "format" || tries >= TRIES) return store.commit([complete(queueOf(channel), id)]);
    return later(channel, id, limited ? pace.wait(value.target) : backoff(tries), { ...value, tries });
  }

  async function later(channel: string, id: string, ms: number, value: Acknowledgement): Promise<void> {
    await store.queue<Acknowledgement>(queueOf(channel)).release(id, stopping ? 0 : ms, value);
    wakeIn(channel, ms + 1);
  }

  function wakeIn(channel: string, ms: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      soon.delete(channel);
      wake(channel);
    }, ms);
    timer.unref();
    timers.add(timer);
  }

  return {
    ops({ id, entry, channel, chat, account, thread, platformId, choice }) {
      const thing = live().channels.get(channel)?.thing;
      const emoji = thing?.traits.ack;
      if (entry !== "channel" || platformId === undefined || choice !== undefined || thing?.react === undefined || emoji === undefined || emoji === "")
        return [];
      const target = { channel, chat, ...(account === undefined ? {} : { account }), ...(thread === undefined ? {} : { thread }) };
      const value: Acknowledgement = { target, platformId, emoji, at: now(), tries: 0 };
      return [push(queueOf(channel), id, value, { group: conversationKey(target) })];
    },
    wake,
    soon(channel) {
      if (stopping || soon.has(channel)) return;
      soon.add(channel);
      wakeIn(channel, MOMENT_MS);
    },
    async stop(graceMs) {
      stopping = true;
      for (const timer of timers) clearTimeout(timer);
      const grace = setTimeout(() => cut.abort(), graceMs);
      await Promise.all(busy.values());
      clearTimeout(grace);
    },
  };
}
