import type { Target } from "../messages.ts";
import type { Plugin } from "../plugin.ts";
import type { FakeContext } from "./fake-context.ts";

/** What an author hands to `channelContract`; made afresh for each test. */
export interface ChannelSubject {
  readonly plugin: Plugin<never>;
  /** Made by `createFakeContext(plugin, ...)` with a configuration that leads to the far end. */
  readonly context: FakeContext<never>;
  readonly far: ChannelFarEnd;
  /** Called when the channel is ready, before the test: pair the friend, join the group. */
  prepare?(): Promise<void>;
  dispose?(): Promise<void>;
}

/** How the far end refuses. `limited`: too many requests. `unavailable`: 5xx. `forbidden`: never to this chat. `markup`: this markup never. `cut`: the message was taken, then the connection broke. */
export type ChannelFault = "limited" | "unavailable" | "forbidden" | "markup" | "cut";

/** The author's own fake of the platform: it speaks the platform's protocol, is strict about it, and can be told to fail. */
export interface ChannelFarEnd {
  /** A chat that may be written to. */
  readonly target: Target;
  /** What it names as the time to wait when it fails as `limited`. */
  readonly retryAfterMs: number;
  /** What people see in that chat, oldest first. */
  shown(): readonly ShownMessage[];
  /** Fails the next so many calls that write. */
  fail(fault: ChannelFault, times: number): void;
  /** Never answers calls that write, from now on. */
  hang(): void;
  /** Calls that write so far, failed ones included. */
  writes(): number;
  /** Somebody writes to the bot. Resolves when the platform has it, not when the bot has. */
  say?(said: Said): Promise<{ readonly platformId: string }>;
  /** Somebody presses a button; of a channel with `traits.choices`. Resolves when the platform has it. */
  press?(press: { readonly platformId: string; readonly data: string; readonly from: "friend" | "stranger" }): Promise<void>;
  /** Hands the newest message out once more. */
  repeat?(): Promise<void>;
  /** Cuts every connection and takes new ones at once, or, while `refuse`, none. */
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

/** A message that the contract suite lets somebody write on the platform. */
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
 * What a platform does not have, so that it is not asked for. `redelivery`: it hands a message out once (the channel then tries to have it
 * accepted itself, see `keepTrying`). `history`: what is said while the connection is away is gone. `ids`: it names no id for what was sent.
 * `limited`, `unavailable`: it never refuses in that way.
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
