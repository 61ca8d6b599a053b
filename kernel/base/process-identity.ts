import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";

/** Whether a process of that id runs now, of any user. One that has ended and only waits to be reaped does not. */
export function processAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const state = statOf(pid)?.[0];
  return state === undefined || (state !== "Z" && state !== "X");
}

/**
 * Identity that distinguishes a process from a later one with the same id: boot and start time in clock ticks. Undefined without /proc, and for a
 * process that has ended.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    const start = statOf(pid)?.[19];
    const boot = bootId();
    return start === undefined || boot === undefined ? undefined : `${boot}:${start}`;
  } catch {
    return undefined;
  }
}

/**
 * Names where process ids count: this run of the operating system, and in it this container. Under the id of a process from elsewhere there is another
 * one here, or none. Undefined if the system does not provide it.
 */
export function processSpace(): string | undefined {
  try {
    const boot = bootId();
    return boot === undefined ? undefined : `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

/** Returns the id of this boot of the operating system; undefined if the system does not provide it. */
export function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Returns the fields of /proc/<pid>/stat after the command (in parentheses, may contain spaces), beginning with the state. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** Returns the mark of processes that the daemon of a data folder starts, so that a later daemon finds the orphans of an earlier one. */
export const folderMark = (dataFolder: string): string => createHash("sha256").update(dataFolder).digest("hex").slice(0, 16);
