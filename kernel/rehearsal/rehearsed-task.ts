import type { ContextPart, Target } from "@svc/sdk";
import type { ContextText } from "../base/context-parts.ts";

/** A piece of a context: `hash` and `characters` are those a trace keeps; in `text` credentials are masked. */
export type RehearsedText = ContextText & ContextPart;

/** Something that a plugin did not do well while a task was rehearsed. */
export interface Finding {
  readonly plugin: string;
  /** The call that failed, such as `assembleContext`, or `process` where it ended the whole rehearsal. */
  readonly what: string;
  readonly reason: string;
}

/** Where a task would go. */
export interface RehearsedRoute {
  readonly agent: string;
  readonly node?: string;
  readonly conversation: string;
  readonly reply: Target;
  /** Prompt for the agent in place of the message. */
  readonly text?: string;
}

/** Delivery that would be sent. */
export interface RehearsedDelivery {
  readonly channel: string;
  readonly chat: string;
  readonly account?: string;
  readonly thread?: string;
  /** Why it would be withheld. */
  readonly held?: string;
  /** The messages of the channel, rendered as it gets them; for a caller without a channel the whole answer. */
  readonly parts: readonly string[];
}

/** Rehearsal of one task under one configuration. */
export interface RehearsedTask {
  readonly id: string;
  /** The task would get no turn: dropped, refused, or its context could not be built. */
  readonly ended?: string;
  readonly route?: RehearsedRoute;
  /** The native session that the turn would resume. */
  readonly session?: string;
  /** Absent if the agent lives on another node: its context is built there. */
  readonly context?: readonly RehearsedText[];
  /** Steps of the preparation that were passed over, with the reason. */
  readonly skipped?: readonly string[];
  /** Absent where nothing would go out. */
  readonly delivery?: RehearsedDelivery;
  readonly findings: readonly Finding[];
}
