import type { Target } from "../messages.ts";
import type { Plugin } from "../plugin.ts";
import type { FakeContext } from "./fake-context.ts";

/** Subject of `channelContract`; created afresh for each test. */
export interface ChannelSubject {
  readonly plugin: Plugin<never>;
  /** Made by `createFakeContext(plugin, ...)` with a configuration that leads to the far end. */
  readonly context: FakeContext<never>;
  readonly far: ChannelFarEnd;
  /** Called when the channel is ready, before the test: pair the friend, join the group. */
  prepare?(): Promise<void>;
  dispose?(): Promise<void>;
}

/**
 * Injected failure of the far end. `limited`: too many requests. `unavailable`: 5xx. `forbidden`: never to this chat. `markup`: this markup never.
 * `cut`: the message was taken, then the connection broke.
 */
export type ChannelFault = "limited" | "unavailable" | "forbidden" | "markup" | "cut";

/** The author's own fake of the platform: it speaks the platform's protocol strictly, and injects failures on request. */
export interface ChannelFarEnd {
  /** A chat that may be written to. */
  readonly target: Target;
  /** Retry delay of its `limited` failures. */
  readonly retryAfterMs: number;
  /** Messages visible in that chat, oldest first. */
  shown(): readonly ShownMessage[];
  /** Fails the next so many calls that write. */
  fail(fault: ChannelFault, times: number): void;
  /** Never answers calls that write, from now on. */
  hang(): void;
  /** Calls that write so far, failed ones included. */
  writes(): number;
  /** Sends a message to the bot as a user. Resolves when the platform has it, not when the bot has. */
  say?(said: Said): Promise<{ readonly platformId: string }>;
  /** Presses a button as a user; for a channel with `traits.choices`. Resolves when the platform has it. */
  press?(press: { readonly platformId: string; readonly data: string; readonly from: "friend" | "stranger" }): Promise<void>;
  /** Hands the newest message out once more. */
  repeat?(): Promise<void>;
  /** Cuts every connection and accepts new ones at once, or, while `refuse`, refuses them. */
  drop?(refuse?: boolean): Promise<void>;
  /** Connections or polls so far, refused ones included. */
  attempts?(): number;
}

/** A message of ours as people see it. */
export interface ShownMessage {
  readonly platformId: string;
  readonly text: string;
  readonly file?: Uint8Array;
  /** Of a channel with `traits.choices`: the buttons below it, in order. */
  readonly buttons?: readonly { readonly label: string; readonly data: string }[];
}

/** A message that the contract suite sends on the platform as a user. */
export interface Said {
  readonly text: string;
  /** `friend` is allowed and known to the bot; `stranger` is not allowed; `itself` is the bot's own account. */
  readonly from: "friend" | "stranger" | "itself";
  readonly where: "direct" | "group";
  /** Names the bot in the platform's own way; in a group only. */
  readonly mention?: boolean;
  readonly file?: { readonly name: string; readonly data: Uint8Array };
}

/**
 * Missing features of a platform, whose cases are skipped. `redelivery`: it delivers a message once (the channel then retries the acceptance itself,
 * see `keepTrying`). `history`: messages sent while the connection is down are lost. `ids`: it returns no id of a sent message. `limited`,
 * `unavailable`: it never fails in that way.
 */
export type ChannelLack =
  | "receive"
  | "direct"
  | "groups"
  | "repeat"
  | "reconnect"
  | "redelivery"
  | "history"
  | "ids"
  | "limited"
  | "unavailable"
  | "echo"
  | "markup"
  | "files in";
