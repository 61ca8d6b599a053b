import { spawn as start } from "node:child_process";
import { svcError } from "../errors.ts";
import type { Child, ChildEnd, Spawn } from "../processes.ts";

/** Starts real programs, as simply as a test needs it. */
export interface RealSpawn {
  readonly spawn: Spawn;
  /** Ids of those that have not ended. */
  processes(): readonly number[];
  /** Ends all that are left. */
  stopAll(): Promise<void>;
}

/** From the first to the last signal, in milliseconds. */
const GRACE_MS = 3_000;

/**
 * The capability `spawn` over Node's own, for contract tests of tiers outside of a daemon: PATH, HOME and the tier's variables as the environment, a
 * process group that is ended as a whole. The daemon's additions (limits, the sweep after a crash) are missing.
 */
export function createRealSpawn(base: Readonly<Record<string, string>> = {}): RealSpawn {
  const living = new Map<number, Child>();
  const spawn: Spawn = (command, args, options) => {
    const { PATH = "", HOME = "" } = process.env;
    const child = start(command, args, {
      cwd: options.cwd,
      env: { PATH, HOME, LANG: "C.UTF-8", ...base, ...options.env },
      stdio: [options.stdin === undefined || options.stdin === "ignore" ? "ignore" : "pipe", "pipe", "pipe"],
      detached: true,
    });
    const output = { stdout: "", stderr: "" };
    const keep = (stream: "stdout" | "stderr", onLine?: (line: string) => void) => {
      const readable = child[stream] as NodeJS.ReadableStream;
      readable.setEncoding("utf8");
      let rest = "";
      readable.on("data", (piece: string) => {
        const lines = `${rest}${piece}`.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) onLine?.(line);
        output[stream] = (output[stream] + piece).slice(0, options.maxOutputBytes ?? 32_768);
      });
    };
    keep("stdout", options.onLine);
    keep("stderr", options.onErrorLine);
    const signal = (name: NodeJS.Signals) => {
      try {
        process.kill(-(child.pid as number), name);
      } catch {
        // The process has ended in the meantime.
      }
    };
    const started = new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(svcError("SVC_SPAWN_FAILED", `${command} cannot be started: ${error.message}`)));
    });
    started.catch(() => undefined);
    const ended = new Promise<ChildEnd>((resolve) => {
      const end = (code: number | null, by: string | null) => {
        living.delete(child.pid ?? 0);
        resolve({ code, signal: by, ...output, truncated: false });
      };
      child.once("close", end);
      child.once("error", () => end(null, null));
    });
    let timer: NodeJS.Timeout | undefined;
    if (options.timeoutMs !== undefined) timer = setTimeout(() => signal("SIGKILL"), options.timeoutMs);
    void ended.then(() => clearTimeout(timer));
    child.stdin?.on("error", () => undefined);
    const handle: Child = {
      pid: child.pid ?? 0,
      started,
      ended,
      write: async (data) => void child.stdin?.write(data),
      closeStdin: () => void child.stdin?.end(),
      async stop() {
        if (child.pid === undefined) return;
        signal("SIGTERM");
        const last = setTimeout(() => signal("SIGKILL"), GRACE_MS);
        await ended;
        clearTimeout(last);
        // A child of the program may have outlived it.
        signal("SIGKILL");
      },
    };
    if (child.pid !== undefined) living.set(child.pid, handle);
    return handle;
  };
  return {
    spawn,
    processes: () => [...living.keys()],
    stopAll: async () => void (await Promise.all([...living.values()].map((child) => child.stop()))),
  };
}
