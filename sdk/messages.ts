import type { Choice, Chosen } from "./choices.ts";
import type { Schema } from "./config.ts";
import type { Topic } from "./delegation.ts";

/** A file of a message or a delivery. Exactly one of `url`, `path`, `data` or `handle` locates its bytes. */
export interface Media {
  readonly kind: "image" | "audio" | "video" | "file";
  readonly name?: string;
  /** MIME type, as the sender claims it. */
  readonly type?: string;
  /** Size in bytes, if the platform reports it. */
  readonly size?: number;
  readonly url?: string;
  /** An absolute path on this machine. */
  readonly path?: string;
  readonly data?: Uint8Array;
  /**
   * The platform's own file id. Before the turn the kernel downloads the file with the channel's `fetchMedia`: a turn has a `path` instead, and files
   * beyond the limits (20 files, 25 MB together, 30 s) are named in the text of its message.
   */
  readonly handle?: string;
}

/** Author of a message. `id` is the platform's stable id as a string; names are for people and never for decisions. */
export interface Sender {
  readonly id: string;
  readonly name?: string;
  readonly handle?: string;
  /** The platform says that this account is a bot. */
  readonly bot?: boolean;
}

/** Destination of an answer. `channel` is a provided channel's name, or an entry that answers its caller itself (`http`). */
export interface Target {
  readonly channel: string;
  readonly chat: string;
  readonly account?: string;
  readonly thread?: string;
  /** The platform id of the message that is answered. */
  readonly replyTo?: string;
}

/** Options of the turn that a message becomes, set by its entry. */
export interface TurnOptions {
  /** Wins over the agent's and the global setting (000:L37). */
  readonly contextStrategy?: string;
  /** Start a new native session. */
  readonly freshSession?: boolean;
  readonly model?: string;
  /** Wall-clock limit in minutes, in place of the agent's `maxExecutionMinutes`. */
  readonly timeoutMinutes?: number;
  /**
   * Schema of the answer: JSON with no keys that it does not name. The engine is told so, and once more where the answer does not match; then the
   * task fails with `errorKind: "output"`. The value is `TaskResult.output`. The text is not streamed while it grows.
   */
  readonly output?: Schema;
  /** Soft cap on the answer's length in tokens. */
  readonly maxOutputTokens?: number;
  /** `report` and `propose` need a tier that enforces them; elsewhere the run fails. */
  readonly autonomy?: "report" | "propose" | "act";
  readonly intent?: string;
  /** Agents that have already worked on this (project, subject) chain, oldest first. */
  readonly chain?: readonly string[];
  /** Of that chain; inherited by every call that the turn makes. */
  readonly topic?: Topic;
  /** The calling agent, if an agent calls another one. */
  readonly askedBy?: string;
  /** The task that waits for the answer, where one does: a call that could only wait for it in turn is refused. */
  readonly callerTask?: string;
  /** A job that must never be resumed after a restart. */
  readonly scheduled?: boolean;
}

/** Work that reaches the daemon, whatever the entry. Plain JSON: it is stored before it is acknowledged. */
export interface Message {
  /** Kind of entry: `task`, `ask`, `followup`, `resume`, `channel`, `cron`, `webhook`, ... */
  readonly entry: string;
  /** The channel's name, for attribution and history; `http` for the HTTP entries. */
  readonly channel: string;
  readonly chat: string;
  readonly account?: string;
  readonly thread?: string;
  readonly sender?: Sender;
  readonly text: string;
  /** The platform's id of this message. */
  readonly platformId?: string;
  /** The same key twice is one message: a delivery id, an update id. Computed after verification, from canonical bytes. */
  readonly dedupKey?: string;
  /**
   * Digest of the request that `dedupKey` stands for, where callers choose the key: the same key with another digest is no retry, and is refused with
   * `SVC_TASK_KEY_REUSED` (422). Without a digest, or after a first message without one, the key alone decides.
   */
  readonly dedupDigest?: string;
  /** A direct conversation with one person, not a group. */
  readonly direct?: boolean;
  /** Handles mentioned, without `@`, as the platform gave them. */
  readonly mentions?: readonly string[];
  readonly replyTo?: { readonly platformId?: string; readonly text?: string; readonly sender?: Sender };
  readonly media?: readonly Media[];
  /** The run of a workflow or another plugin that the message belongs to: `traces.list({ runId })` finds its tasks. */
  readonly runId?: string;
  /** The agent, where the entry names it. */
  readonly agent?: string;
  /**
   * The answer of a person to a delivery with choices: a button pressed, or its number typed where there are no buttons. Such a message reaches no
   * agent; the `inbound` tap of the asking plugin consumes it by rejecting it. The kernel first checks that the delivery went to this chat, is open,
   * and may be answered by this sender. Else `tasks.accept` throws `SVC_CHOICE_CLOSED` or `SVC_CHOICE_FOREIGN`, with a message for the person.
   */
  readonly choice?: Chosen;
  /** Extra facts of the platform that were verified by the channel (chat title, project path ...). */
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
  readonly options?: TurnOptions;
}

/** A message as the kernel has accepted it. */
export interface Inbound extends Message {
  /** The task id, `task_...`: key for cancel, follow-up and the trace. */
  readonly id: string;
  readonly rootId: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** Number of earlier starts of this task: 0 unless a restart interrupted it. */
  readonly attempts: number;
}

/** Answer of `route`: the agent that works on the message, the conversation, and the destination of the answer. */
export interface Route {
  readonly agent: string;
  /**
   * The agent lives on this other node: it needs no entry in the configuration here and runs with default limits. Its context is built on that node,
   * so no tap of `assembleContext` runs here. A tap of `dispatch` must take the turn, or it fails with `SVC_NODE_UNSERVED`.
   */
  readonly node?: string;
  /** Turns of one conversation never run side by side. Convention: `<agent>:<channel>:<account>:<chat>[:<thread>]`. */
  readonly conversation: string;
  readonly reply: Target;
  /**
   * Prompt for the agent in place of the message's text; not empty. The turn, its engine and the history have this text, with the message's unchanged
   * files; the stored task and its trace keep the message.
   */
  readonly text?: string;
}

/** Outgoing text. `reply` answers a message, `proactive` comes from `POST /send` or a plugin, `notice` is the service's own message. */
export interface Delivery {
  readonly id: string;
  readonly kind: "reply" | "proactive" | "notice";
  readonly target: Target;
  /** Markdown. The kernel splits and renders it for the channel. */
  readonly text: string;
  readonly media?: readonly Media[];
  readonly taskId?: string;
  readonly agent?: string;
  /** Answers that the reader may choose from, 1 to 8: buttons, or numbered lines where the channel has none. See `Message.choice`. */
  readonly choices?: readonly Choice[];
  /** Expiry of the choices in Unix milliseconds; default a day after the delivery was accepted. */
  readonly choicesUntil?: number;
  /** Ids of the senders who may choose. Unset: everyone in that chat from whom the channel accepts messages. */
  readonly choosers?: readonly string[];
  /** For channels that show one, such as push notifications. */
  readonly title?: string;
  /** 1 (lowest) to 5, for channels that know urgency. */
  readonly priority?: number;
  /** Reason why a `deliver` tap withholds it. It is stored with its text, and sent when `tasks.release` is called with its id. */
  readonly held?: string;
}

/** Result of a task. The last frame of `POST /task`, and the whole answer for a caller that accepts JSON. */
export interface TaskResult {
  readonly ok: boolean;
  readonly taskId: string;
  readonly agent: string;
  readonly reply: string;
  readonly status: "ok" | "error" | "timeout";
  readonly error?: string;
  /** `cancelled`, `timeout`, `interrupted`, `dropped`, `output`, or the tier's own kind. */
  readonly errorKind?: string;
  /** 143 where the run passed its time limit and was terminated. */
  readonly exitCode?: number;
  readonly durationMs: number;
  readonly usage?: Usage;
  readonly model?: string;
  readonly sessionId?: string;
  /** Value of a typed answer (`TurnOptions.output`). */
  readonly output?: unknown;
  /**
   * The delivery that withholds the answer of a successful run (`errorKind: "held"`, `reply` empty): a decision about it is pending. Its text is in
   * `tasks.withheld()` and in the trace, but not in the result, which goes to the caller.
   */
  readonly withheld?: string;
}

/** Tokens of one turn, not a running sum. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheCreate?: number;
  /** In US dollars, if the engine reports it. */
  readonly cost?: number;
}
