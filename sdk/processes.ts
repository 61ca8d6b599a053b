/** Capability `spawn`: a program without a shell, in a process group of its own, with an allow-listed environment and a marker by which it is swept. */
export type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => Child;

/** How a program is started and what is kept of it. */
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
  /** Never rejects. `truncated` tells that output was thrown away. */
  readonly ended: Promise<ChildEnd>;
  write(data: string): Promise<void>;
  closeStdin(): void;
  /** SIGTERM, and SIGKILL after 3 s, to the whole tree. Resolves when it is gone. */
  stop(): Promise<void>;
}

/** How a program ended. */
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
