import type { Delivery, DraftDelivery, Inbound, Log, Message, Op, Store, Target, WithheldDelivery } from "@svc/sdk";
import type { ChannelRender } from "../../base/channel-render.ts";
import type { Bus } from "../bus/bus.ts";
import type { Live } from "../host/live.ts";
import type { ProvidedChannel } from "../host/scope.ts";

/** Everything about getting text out: the outbox, streaming edits, pacing, retries. The pipeline knows only this. */
export interface Deliveries {
  /** Is there a channel for it, ready or not? Entries that answer their caller themselves (`http`) have none. */
  reaches(target: Target): boolean;
  /**
   * The writes that put a delivery into the outbox, or keep one that a tap withholds (`held`); they go into the transaction that ends the
   * task, which is handed to the store at once: the outbox claims along with it. The `deliver` hook has run; `unjudged` where it failed, so that it is asked again before a release.
   */
  ops(delivery: Delivery, unjudged?: boolean): readonly Op[];
  /** That transaction is durable: send as soon as the channel is ready, or tell that it is withheld. */
  committed(delivery: Delivery): void;
  /** What waits for a decision. */
  readonly withheld: WithheldDeliveries;
  /** What waits for a choice. */
  readonly choices: DeliveryChoices;
  /** A reply that is shown while it grows. Undefined where the channel cannot edit or is not ready. */
  open(target: Target, taskId: string, agent: string): ReplyStream | undefined;
  /** Run the `deliver` hook, store and send. Resolves after the commit; `sent` when the platform accepted it. Throws `SVC_CHANNEL_UNKNOWN`. */
  send(delivery: DraftDelivery): Promise<{ readonly id: string; readonly sent: Promise<{ readonly platformId: string }> }>;
  /**
   * One try to say something now, past the outbox: for when nothing can be stored. Nothing is kept of it, and a channel that is not ready
   * or has to wait does not say it. Never rejects.
   */
  tell(notice: Delivery): Promise<void>;
  /** The writes that ask for a message to be acknowledged by its channel's `ack`; they go into the commit that stores it. */
  accepting(inbound: Inbound): readonly Op[];
  /** That commit is durable. */
  accepted(inbound: Inbound): void;
  /** A channel connected or went away. */
  channelState(channel: ProvidedChannel): void;
  /** Deliveries of a channel that wait in the outbox. */
  unsent(channel: string): Promise<number>;
  start(): Promise<void>;
  /** Stop claiming, let what is in flight finish, keep the rest for the next start. */
  stop(): Promise<void>;
}

/** What the deliveries are built from. */
export interface DeliveriesDeps {
  readonly store: Store;
  readonly bus: Pick<Bus, "publish" | "subscribe" | "current" | "within" | "node">;
  readonly log: Log;
  live(): Live;
  render(): ChannelRender;
  /** False for the daemon's own files: no plugin has them sent away. */
  mayLeave?(path: string): boolean;
  /** Milliseconds that run evenly, over restarts too, such as the store's steady ones. */
  readonly now: () => number;
}

/** The room that sends: builds the deliveries of a kernel. Nothing is sent before `start`. */
export interface DeliveryPart {
  createDeliveries(deps: DeliveriesDeps): Deliveries;
}

/** Deliveries that a `deliver` tap keeps back, until a plugin decides about them or they expire. */
export interface WithheldDeliveries {
  list(query?: { readonly after?: string; readonly limit?: number }): Promise<readonly WithheldDelivery[]>;
  /** Sends it. False when it is not there any more. */
  release(id: string): Promise<boolean>;
  /** Drops it, with the reason in trace and event. False when it is not there any more. */
  refuse(id: string, reason: string): Promise<boolean>;
}

/** Deliveries with choices, open until they are closed or their time is over. */
export interface DeliveryChoices {
  /**
   * The message as it counts: one that answers a delivery with choices gets its `choice`. Throws `SVC_CHOICE_CLOSED` or
   * `SVC_CHOICE_FOREIGN` for a pressed button that may not count (any more).
   */
  heard(message: Message): Message | Promise<Message>;
  /** Nobody took a choice: tell the person. Answers the reason for the event; never rejects. */
  unclaimed(inbound: Inbound): Promise<string>;
  /** See `Tasks.closeChoices`. */
  close(id: string, words?: string): Promise<boolean>;
}

/** The growing reply of one task. What it has sent is found again by the final delivery through the task id. */
export interface ReplyStream {
  text(delta: string): void;
  /** The turn is over; the final text comes through the outbox. */
  end(): Promise<void>;
}
