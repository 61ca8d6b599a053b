import { readFileSync } from "node:fs";

/** The operating system's table of processes. */
export interface ProcessTable {
  /** Tells a process from a later one with the same id; undefined for one that is gone. Without /proc: only that it is there. */
  startOf(pid: number): string | undefined;
  /** The process and those it descends from, nearest first, as far as the system tells. */
  lineage(pid: number): readonly number[];
}

/** Upper limit of a chain of parent processes. */
const DEEPEST = 64;

/** The processes of this machine. */
export function systemProcesses(): ProcessTable {
  return {
    startOf(pid) {
      const fields = statOf(pid);
      if (fields !== undefined) return fields[0] === "Z" || fields[0] === "X" ? undefined : `${bootOf()}-${fields[19]}`;
      if (process.platform === "linux") return undefined;
      return isThere(pid) ? "unknown" : undefined;
    },
    lineage(pid) {
      const line = [pid];
      while (line.length < DEEPEST) {
        const parent = Number(statOf(line.at(-1) as number)?.[1] ?? 0);
        if (parent <= 1) break;
        line.push(parent);
      }
      return line;
    },
  };
}

/** The fields of /proc/<pid>/stat after the command, which stands in parentheses and may hold spaces: the state, the parent, ... */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function bootOf(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
  } catch {
    return "";
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
