import type { ActionEnvelope } from "./action.ts";
import type { Delivery, Media, Message, TaskResult, Usage } from "./messages.ts";
import type { TierEvent } from "./tier.ts";

type MaybePromise<T> = T | Promise<T>;

/**
 * What of the context a plugin uses, declared in its manifest and in `definePlugin`. An undeclared call throws `SVC_CAPABILITY_UNDECLARED`.
 * A seat belt that keeps honest code honest and shows the operator what a plugin does; not a sandbox.
 */
export type Capability =
  | "fetch"
  /** Guarded sockets and WebSockets, to the hosts that the manifest's `network` names, where it names any. */
  | "sockets"
  /** Connections of its own, beside `fetch` and `sockets`. Lends nothing; without it an isolated plugin has no network where the system can withhold it. */
  | "network"
  | "files"
  /** With `files`: the whole data folder as `files.data`, other plugins' state in it. */
  | "data-folder"
  | "spawn"
  | "warm"
  | "media"
  | "models"
  | "render"
  | "store"
  | "events"
  | "tasks"
  | "agents"
  | "actions"
  | "jobs"
  | "routes"
  | "traces"
  | "health"
  | `env:${string}`;

/** Capability `tasks`: hand work to agents. */
export interface Tasks {
  /** Accept a message and return after its commit: then acknowledge the platform. The run goes on by itself. */
  accept(message: Message): Promise<Accepted>;
  /** Accept, wait for the end and return the result. A failed run is a result, not an exception. */
  run(message: Message, listen?: (event: TaskEvent) => void, signal?: AbortSignal): Promise<TaskResult>;
  /** Send on a channel, through the `deliver` hook and the outbox. Resolves after the commit; `sent` when the platform accepted it. */
  deliver(delivery: Omit<Delivery, "id">): Promise<{ readonly id: string; readonly sent: Promise<{ readonly platformId: string }> }>;
  /** False when no running, preparing or queued task has that id. */
  cancel(id: string, reason?: string): Promise<boolean>;
  /**
   * Work for the conversation of a running task. `replace` cancels that task, waits for its end and runs before anything queued.
   * Undefined when no such task runs: one that waits has not begun, and `accept` keeps the order.
   */
  followup(id: string, message: { readonly text: string; readonly replace: boolean; readonly sender?: string }): Promise<Accepted | undefined>;
  /** Running and preparing tasks. */
  running(): readonly RunningTask[];
  /** Accepted and held behind a running one. */
  queued(): readonly RunningTask[];
}

/** A task that holds a slot or waits for one. Times in Unix milliseconds. */
export interface RunningTask {
  readonly id: string;
  readonly agent: string;
  /** What it is doing now: `queued`, the preparation step's name, or `agent`. */
  readonly step: string;
  readonly startedAt: number;
  readonly channel: string;
  readonly chat: string;
  readonly conversation: string;
}

export interface Accepted {
  readonly taskId: string;
  readonly rootId: string;
  /** The dedup key was seen before: nothing was added. */
  readonly duplicate: boolean;
}

/** What a caller of `tasks.run` hears: where the task stands and what the tier says. */
export type TaskEvent =
  | { readonly type: "accepted"; readonly taskId: string; readonly rootId: string }
  | { readonly type: "queued"; readonly taskId: string }
  | { readonly type: "started"; readonly taskId: string; readonly agent: string }
  | Exclude<TierEvent, { type: "done" }>;

/** Capability `fetch`: as the global one, but to public addresses only, checked on every hop; see `FetchLimits`. */
export type GuardedFetch = (url: string, init?: FetchInit) => Promise<FetchAnswer>;

/** What `ctx.fetch` is: the whole answer, or with `stream` the answer as it comes. */
export interface StreamingFetch extends GuardedFetch {
  /**
   * Resolves with the head, as soon as it is there; the body is read piece by piece, at the pace of its reader. For event streams, long
   * polls and downloads. Guarded in each hop like the other. Ends with the plugin.
   */
  stream(url: string, init?: FetchStreamInit): Promise<FetchStream>;
}

export interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Decoded bytes after which reading stops; default 1,048,576. */
  readonly maxBytes?: number;
  /** The whole exchange, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
  readonly maxRedirects?: number;
  /**
   * Origins that the operator wrote into the configuration, such as a bot server on this machine: exempt from the address
   * check. Never from a message, a model or a redirect.
   */
  readonly trustedOrigins?: readonly string[];
}

export interface FetchStreamInit extends Omit<FetchInit, "maxBytes" | "timeoutMs"> {
  /** Until the head is there, over all redirects, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
  /** How long the far end may send nothing while the body is waited for, in milliseconds; default 60,000. */
  readonly idleMs?: number;
  /** Decoded bytes after which the body fails with `SVC_FETCH_TOO_LARGE`. Default: no limit. */
  readonly maxBytes?: number;
}

/** What comes before a body. */
export interface FetchHead {
  readonly status: number;
  readonly statusText: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The final address after redirects. */
  readonly url: string;
}

export interface FetchAnswer extends FetchHead {
  readonly body: Uint8Array;
  /** `body` as UTF-8, cut on a character boundary. */
  text(): string;
  readonly truncated: boolean;
}

export interface FetchStream extends FetchHead {
  /** Read once. To leave it early ends the connection; one that breaks off throws. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Capability `files`: real paths below the given roots only; no symlink leads out. Relative paths start at the first root. */
export interface Files {
  /** Roots are set by the kernel from configuration: an agent's workspace, `SVC_BUILTIN_FILE_ROOTS`, the plugin's own data folder. The daemon's own files below them (configuration, `.env`, data folder, `/proc`) are not listed and refused with `SVC_FILE_PROTECTED`. */
  under(...roots: readonly string[]): Confined;
  /** The plugin's own folder below the data folder, made on first use. */
  readonly own: Confined;
  /** The data folder (`.svc`), for the folders that people edit there, such as `actions` and `workflows`. Needs the capability `data-folder`. */
  readonly data: Confined;
}

export interface Confined {
  readonly roots: readonly string[];
  /** Refuses with `SVC_FILE_TOO_LARGE` above `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Uint8Array>;
  /** Temp, fsync, rename, fsync folder. */
  write(path: string, data: string | Uint8Array): Promise<void>;
  /**
   * Read, edit and write as one: nobody else who changes this file by `change`, in this process or another such as the command
   * line, comes in between. `edit` gets what is there now, or nothing, and answers with the new content; undefined leaves the file
   * as it is. Throws `SVC_FILE_BUSY` when another process holds it for 5 s.
   */
  change(path: string, maxBytes: number, edit: (before: Uint8Array | undefined) => MaybePromise<string | Uint8Array | undefined>): Promise<void>;
  /** One write call, in order over parallel callers. */
  append(path: string, data: string): Promise<void>;
  list(
    path: string,
  ): Promise<readonly { readonly name: string; readonly kind: "file" | "folder" | "other"; readonly size: number; readonly mtimeMs: number }[]>;
  /** The real path, for programs that need one. Throws when it leads outside. */
  resolve(path: string): Promise<string>;
  remove(path: string): Promise<void>;
}

/** Capability `spawn`: a program without a shell, in a process group of its own, with an allow-listed environment and a marker by which it is swept. */
export type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => Child;

export interface SpawnOptions {
  readonly cwd: string;
  /** Added to PATH, HOME, LANG, TZ, TMPDIR, TERM. Loader variables (NODE_OPTIONS, LD_*, PYTHONSTARTUP ...) are refused. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: "pipe" | "ignore" | string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Bytes kept of each stream for `ended`; the rest is read and thrown away. Default 32,768. */
  readonly maxOutputBytes?: number;
  /** The longest line handed to `onLine` in bytes; a longer one ends the run with kind `protocol`. Default 1,048,576. */
  readonly maxLineBytes?: number;
  readonly onLine?: (line: string) => void;
  readonly onErrorLine?: (line: string) => void;
  /** The task the process works for: recorded with its process before `started` resolves, swept after a crash. */
  readonly taskId?: string;
}

export interface Child {
  /** 0 until it has started. */
  readonly pid: number;
  /** Resolves when the process has started; rejects with `SVC_SPAWN_FAILED` naming the command, or `SVC_SPAWN_ENV` naming the variable. */
  readonly started: Promise<void>;
  /** Never rejects. `truncated` tells that output was thrown away. */
  readonly ended: Promise<ChildEnd>;
  write(data: string): Promise<void>;
  closeStdin(): void;
  /** SIGTERM, and SIGKILL after 3 s, to the whole tree. Resolves when it is gone. */
  stop(): Promise<void>;
}

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  /** `timeout`, `aborted`, `protocol` where the kernel ended it. */
  readonly reason?: "timeout" | "aborted" | "protocol";
}

/**
 * Capability `warm`: processes kept ready between the turns of a conversation, by the limits of `processPool`. What is idle longer
 * than `maxAgeSeconds` is stopped; what is idle longer than `maxIdleSeconds` may be stopped to make room for another.
 */
export interface Warm {
  /** Something is kept or in use under this key, whichever plugin keeps it: the next turn there starts nothing new. */
  has(key: string): boolean;
  /** Takes out what this plugin keeps under `key`; from then on it is in use and no time runs. Undefined when there is nothing. */
  take<T>(key: string): T | undefined;
  /**
   * Keeps `thing` idle, or stops it when there is no room: awaits nothing. `stop` is called once, also when the plugin ends.
   * When `ended` resolves it is forgotten without a `stop`. A thing already kept under `key` is stopped.
   */
  keep<T>(key: string, thing: T, stop: () => Promise<void>, ended: Promise<unknown>): void;
  /** What was taken is not given back. */
  drop(key: string): void;
}

/** Capability `media`: what came with a message, read for an engine. */
export interface MediaReader {
  /**
   * The pictures among `media`, in order: at most 20 of at most 5 MB that are PNG, JPEG, GIF or WebP by their bytes. `note` names the
   * others and belongs behind the words of the turn; it is empty when all are passed on. Never rejects.
   */
  pictures(media: readonly Media[]): Promise<{ readonly pictures: readonly Picture[]; readonly note: string }>;
}

/** A picture ready to be shown to a model. */
export interface Picture {
  readonly data: Uint8Array;
  readonly type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Where it lies, for programs that read it themselves. */
  readonly path?: string;
}

/** Capability `render`: markdown to a platform's dialect and split to its limit, fences reopened. */
export interface Render {
  /** Before `to`, since cutting rendered text would cut marks. A blank text has no piece. */
  split(markdown: string, limit: number, unit: "codepoint" | "utf16" | "utf8"): readonly string[];
  to(dialect: string, markdown: string): string;
}

/** Capability `jobs`: work by the clock. One tick a minute; a (job, minute) runs at most once, over restarts too. */
export interface Jobs {
  /** A 5-field cron expression in `timezone` (default UTC). Throws `SVC_CRON_INVALID`. Registering an id again replaces it. */
  cron(id: string, expression: string, timezone: string | undefined, run: (minute: Date) => Promise<void>): () => void;
  /** A timer of any length that ends with the plugin. */
  after(ms: number, run: () => void): () => void;
  every(ms: number, run: () => Promise<void> | void): () => void;
  /** What passed without the cron job of that id, oldest first: nothing is made up for, but nothing is silent either. */
  missed(id: string): Promise<readonly MissedMinutes[]>;
}

/**
 * Minutes in which a cron job should have run and did not: the daemon was down or about to stop, the machine slept, or its clock
 * jumped. Noted once for each such time.
 */
export interface MissedMinutes {
  /** The first and the last of them, ISO 8601. */
  readonly first: string;
  readonly last: string;
  /** How many: counted up to a thousand, `more` says that there were others. */
  readonly count: number;
  readonly more?: boolean;
  /** When it was noticed, in Unix milliseconds. */
  readonly at: number;
}

/** Capability `traces`: read what tasks did, and add a step to one. */
export interface Traces {
  get(id: string): Promise<Trace | undefined>;
  list(query?: {
    readonly agent?: string;
    readonly channel?: string;
    readonly status?: string;
    readonly before?: number;
    readonly limit?: number;
  }): Promise<readonly Trace[]>;
}

/** One per task (000:L116). Times in Unix milliseconds. */
export interface Trace {
  readonly id: string;
  readonly rootId: string;
  readonly agent: string;
  readonly channel: string;
  readonly chat: string;
  readonly account?: string;
  readonly conversation: string;
  readonly entry: string;
  readonly sender?: string;
  readonly runId?: string;
  readonly status: "in-flight" | "ok" | "error" | "timeout";
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly durationMs?: number;
  /** The original message, whole. Rows from before schema version 8 have only `messagePreview`. */
  readonly message?: string;
  readonly messagePreview?: string;
  /** Task ids answered by this turn, where several were collected; only in the trace of the first one. */
  readonly tasks?: readonly string[];
  /**
   * The task whose turn answered this one too. Its trace holds steps, usage and answer; `get` shows the answer (or the error) here as
   * well, `list` does not.
   */
  readonly lead?: string;
  readonly response?: string;
  readonly error?: string;
  readonly errorKind?: string;
  /** 143 where the run passed its time limit and was terminated. */
  readonly exitCode?: number;
  readonly model?: string;
  readonly sessionId?: string;
  readonly usage?: Usage;
  readonly attempts: number;
  readonly steps: readonly TraceStep[];
  readonly autonomyBlocks?: readonly { readonly tool: string; readonly reason: string }[];
  /** What held a run of restricted autonomy. */
  readonly guard?: { readonly level: "wall" | "narrow"; readonly reason?: string };
}

export interface TraceStep {
  readonly name: string;
  /** `prepare`, `tool`, `action`, `tier` or `deliver`. */
  readonly kind: string;
  readonly at: number;
  readonly durationMs?: number;
  readonly input?: string;
  readonly output?: string;
  readonly error?: string;
  readonly envelope?: ActionEnvelope;
}

/** Capability `health`: how the daemon stands at this moment. */
export type HealthReader = () => DaemonHealth;

export interface DaemonHealth {
  /** It runs, and can keep what it takes. */
  readonly ok: boolean;
  readonly state: "starting" | "running" | "draining" | "stopped";
  readonly uptimeSeconds: number;
  readonly tasks: { readonly running: number; readonly queued: number };
  /** `failures`: calls into it that failed since it was set up. */
  readonly plugins: readonly { readonly id: string; readonly state: string; readonly failures: number }[];
  /** Of the database on disk; undefined without one. */
  readonly storeBytes?: number;
}
