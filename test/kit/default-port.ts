import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Where a daemon listens whose configuration says nothing of it. */
const DEFAULT_PORT = 18_800;

/** A process that listens on a port. */
export interface Holder {
  readonly pid: number;
  /** Its command line. */
  readonly command: string;
}

const LISTENS = "0A";

/** Who listens on a port of this machine: undefined for nobody, no `pid` that can be found for a process of another user. Linux alone. */
export function holderOf(port: number): Holder | "another user's process" | undefined {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const sockets = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) =>
    existsSync(table)
      ? readFileSync(table, "utf8")
          .split("\n")
          .map((line) => line.trim().split(/\s+/))
          .filter(([, local = "", , state]) => state === LISTENS && local.endsWith(`:${hex}`))
          .map((fields) => `socket:[${fields[9]}]`)
      : [],
  );
  if (sockets.length === 0) return undefined;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const holds = readdirSync(`/proc/${pid}/fd`).some((fd) => sockets.includes(linkOf(`/proc/${pid}/fd/${fd}`)));
      if (holds) return { pid: Number(pid), command: readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim() };
    } catch {
      // It has ended, or is somebody else's.
    }
  }
  return "another user's process";
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Before the first test: says who holds the port on which commands look for a daemon where svc.json names none. */
export default function setup(): void {
  const holder = holderOf(DEFAULT_PORT);
  if (holder === undefined) return;
  const who = typeof holder === "string" ? holder : `process ${holder.pid} (${holder.command})`;
  process.stderr.write(`Port ${DEFAULT_PORT} is held by ${who}: tests of test/cli that expect no daemon there will fail until it is ended.\n`);
}
