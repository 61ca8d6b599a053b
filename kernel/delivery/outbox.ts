import type { Target } from "@svc/sdk";
import { ChannelQueue, type OutboxDeps } from "./channel-queue.ts";

/** The durable queues of all channels and the work on them. */
export interface Outbox {
  /** Something may have become possible on that channel. */
  wake(channel: string): void;
  /** As `wake`, and first drops expired entries. */
  sweep(channel: string): void;
  /** Whether something waits for that conversation. */
  holds(target: Target): Promise<boolean>;
  /** A commit in progress puts a delivery into that queue. */
  expect(channel: string): void;
  /** Claims no more, lets deliveries in progress finish for `graceMs`, then aborts them. Unfinished ones stay for the next start. */
  stop(graceMs: number): Promise<void>;
}

/** One queue a channel, made when something first happens there. */
export function createOutbox(deps: OutboxDeps): Outbox {
  const queues = new Map<string, ChannelQueue>();
  const queueOf = (channel: string): ChannelQueue => {
    let queue = queues.get(channel);
    if (queue === undefined) queues.set(channel, (queue = new ChannelQueue(channel, deps)));
    return queue;
  };
  let stopping = false;
  return {
    wake: (channel) => void (stopping || queueOf(channel).wake()),
    expect: (channel) => void (stopping || queueOf(channel).expect()),
    holds: (target) => queueOf(target.channel).holds(target),
    sweep: (channel) => void (stopping || queueOf(channel).sweep()),
    async stop(graceMs) {
      stopping = true;
      await Promise.all([...queues.values()].map((queue) => queue.stop(graceMs)));
    },
  };
}
