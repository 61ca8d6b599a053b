import { readFileSync } from "node:fs";

/** Whether a process of that id exists now, whoever owns it. */
export function processAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * What tells a process from a later one with the same id: boot and start time in clock ticks. Undefined where there is no /proc,
 * and for a process that is gone.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the command in parentheses and may hold spaces; the start time is the 20th after it.
    const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return start === undefined ? undefined : `${boot}:${start}`;
  } catch {
    return undefined;
  }
}
