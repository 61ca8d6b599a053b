import type { Delivery, DraftDelivery, Inbound, Log, Message, Op, Store, Target, WithheldDelivery } from "@svc/sdk";
import type { ChannelRender } from "../../base/channel-render.ts";
import type { Bus } from "../bus/bus.ts";
import type { Live } from "../host/live.ts";
import type { ProvidedChannel } from "../host/scope.ts";

/** Everything about getting text out: the outbox, streaming edits, pacing, retries. The pipeline knows only this. */
export interface Deliveries {
  /** Whether a channel exists for the target, ready or not. Entries that answer their caller themselves (`http`) have none. */
  reaches(target: Target): boolean;
  /**
   * Returns the writes that put a delivery into the outbox, or store one that a tap withholds (`held`); they go into the transaction that ends the
   * task, which is passed to the store at once: the outbox claims along with it. The `deliver` hook has run; `unjudged` where it failed, so that it
   * runs again before a release.
   */
  ops(delivery: Delivery, unjudged?: boolean): readonly Op[];
  /** That transaction is durable: send as soon as the channel is ready, or report that it is withheld. */
  committed(delivery: Delivery): void;
  /** Deliveries that wait for a decision. */
  readonly withheld: WithheldDeliveries;
  /** Deliveries that wait for a choice. */
  readonly choices: DeliveryChoices;
  /** A reply that is shown while it grows. Undefined where the channel cannot edit or is not ready. */
  open(target: Target, taskId: string, agent: string): ReplyStream | undefined;
  /** Run the `deliver` hook, store and send. Resolves after the commit; `sent` when the platform accepted it. Throws `SVC_CHANNEL_UNKNOWN`. */
  send(delivery: DraftDelivery): Promise<{ readonly id: string; readonly sent: Promise<{ readonly platformId: string }> }>;
  /**
   * Makes one attempt to send a notice immediately, bypassing the outbox: for when nothing can be stored. Not persisted; skipped if the channel is
   * not ready or has to wait. Never rejects.
   */
  tell(notice: Delivery): Promise<void>;
  /** Returns the writes that request the channel's `ack` of a message; they go into the commit that stores it. */
  accepting(inbound: Inbound): readonly Op[];
  /** That commit is durable. */
  accepted(inbound: Inbound): void;
  /** A channel connected or went away. */
  channelState(channel: ProvidedChannel): void;
  /** Deliveries of a channel that wait in the outbox. */
  unsent(channel: string): Promise<number>;
  start(): Promise<void>;
  /** Stops claiming, completes deliveries in progress, and keeps the rest for the next start. */
  stop(): Promise<void>;
}

/** Dependencies of the deliveries. */
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
  /** Sends it. Returns false if it no longer exists. */
  release(id: string): Promise<boolean>;
  /** Drops it, with the reason in trace and event. Returns false if it no longer exists. */
  refuse(id: string, reason: string): Promise<boolean>;
}

/** Deliveries with choices, open until they are closed or their time is over. */
export interface DeliveryChoices {
  /**
   * The message as it counts: one that answers a delivery with choices gets its `choice`. Throws `SVC_CHOICE_CLOSED` or
   * `SVC_CHOICE_FOREIGN` for a pressed button that may not count (any more).
   */
  heard(message: Message): Message | Promise<Message>;
  /** No plugin took a choice: notifies the person. Resolves with the reason for the event; never rejects. */
  unclaimed(inbound: Inbound): Promise<string>;
  /** See `Tasks.closeChoices`. */
  close(id: string, words?: string): Promise<boolean>;
}

/** The growing reply of one task. The final delivery finds the messages already sent by the task id. */
export interface ReplyStream {
  text(delta: string): void;
  /** The turn is over; the final text comes through the outbox. */
  end(): Promise<void>;
}
