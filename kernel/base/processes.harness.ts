import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A tmpfs of `size` over an empty folder; undefined where this user may not mount one. */
export function smallDisk(folder: string, size: string): { remove(): void } | undefined {
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
  if (mounted.status !== 0) return undefined;
  return { remove: () => void execFileSync("umount", ["-l", folder]) };
}

/** The id of a process that has just ended. */
export function endedProcess(): number {
  return Number(execFileSync(process.execPath, ["-p", "process.pid"], { encoding: "utf8" }));
}

/** A child process that runs one of the programs of `child.harness.ts`. */
export interface Child {
  readonly process: ChildProcess;
  /** The lines it has printed so far. */
  readonly lines: string[];
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Resolves when it has printed `count` lines; rejects when it ends before. */
  printed(count: number): Promise<void>;
}

/** Starts the program `name` of `child.harness.ts`, below `prefix` when given, such as strace with its options. */
export function startChild(name: string, argument: string, prefix: readonly string[] = []): Child {
  const [command, ...rest] = [...prefix, process.execPath, "--import", "jiti/register", join(import.meta.dirname, "child.harness.ts"), name, argument];
  const child = spawn(command as string, rest, { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  let text = "";
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdout.on("data", (chunk: Buffer) => {
    const parts = (text + chunk.toString()).split("\n");
    text = parts.pop() as string;
    lines.push(...parts);
  });
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);
  return {
    process: child,
    lines,
    ended,
    async printed(count) {
      let over = false;
      void ended.then(() => {
        over = true;
      });
      while (lines.length < count) {
        if (over) throw new Error(`the child ended after ${lines.length} lines: ${errors}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },
  };
}
