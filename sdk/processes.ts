/** Capability `spawn`: a program without a shell, in a process group of its own, with an allow-listed environment and a marker by which it is swept. */
export type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => Child;

/** Options of a child process: start, limits and captured output. */
export interface SpawnOptions {
  readonly cwd: string;
  /** Added to PATH, HOME, LANG, TZ, TMPDIR, TERM. Loader variables (NODE_OPTIONS, LD_*, PYTHONSTARTUP ...) are refused. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: "pipe" | "ignore" | string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Bytes kept of each stream for `ended`; the rest is read and thrown away. Default 32,768. */
  readonly maxOutputBytes?: number;
  /** The longest line passed to `onLine`, in bytes; a longer one ends the run with kind `protocol`. Default 1,048,576. */
  readonly maxLineBytes?: number;
  readonly onLine?: (line: string) => void;
  readonly onErrorLine?: (line: string) => void;
  /**
   * The task the process works for: recorded with its process before `started` resolves, swept after a crash, and named to it as
   * `SVC_TASK_ID`, by which the tools server that it starts says whose call it passes on.
   */
  readonly taskId?: string;
}

/** A program that was started, with whatever it started. */
export interface Child {
  /** 0 until it has started. */
  readonly pid: number;
  /** Resolves when the process has started; rejects with `SVC_SPAWN_FAILED` naming the command, or `SVC_SPAWN_ENV` naming the variable. */
  readonly started: Promise<void>;
  /** Never rejects. `truncated`: a part of the output was discarded. */
  readonly ended: Promise<ChildEnd>;
  write(data: string): Promise<void>;
  closeStdin(): void;
  /** Sends SIGTERM, and SIGKILL after 3 s, to the whole tree. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Result of a child process. */
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
 * Capability `warm`: processes kept ready between the turns of a conversation, by the limits of `processPool`. A process idle for more than
 * `maxAgeSeconds` is stopped; one idle for more than `maxIdleSeconds` may be stopped to make room for another.
 */
export interface Warm {
  /** Something is kept or in use under this key, whichever plugin keeps it: the next turn there starts nothing new. */
  has(key: string): boolean;
  /** Takes this plugin's entry of `key` out of the pool; it is in use from then on and does not expire. Undefined when there is none. */
  take<T>(key: string): T | undefined;
  /**
   * Keeps `thing` idle, or stops it when the pool is full: does not wait. `stop` is called once, also when the plugin ends. When `ended` resolves it
   * is dropped without a `stop`. A thing already kept under `key` is stopped.
   */
  keep<T>(key: string, thing: T, stop: () => Promise<void>, ended: Promise<unknown>): void;
  /** Releases an entry that was taken and is not kept again. */
  drop(key: string): void;
}
