import { spawnSync } from "node:child_process";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../house/house.ts";
import { type DaemonProcess, pause } from "../daemon.harness.ts";
import type { WeekClock } from "./clock.ts";

const DAY_MS = 86_400_000;
/** Room that is left on a disk that is nearly full, in bytes. */
const REST = 24 * 1024 * 1024;

/** What happens to a daemon while it works. */
export const STRIKES = ["kill", "stop", "clock forward", "clock back", "nearly full disk", "cut", "kill the peer", "quarantine"] as const;
export type Strike = (typeof STRIKES)[number];

/** What is struck. */
export interface Target {
  readonly folder: string;
  readonly clock: WeekClock;
  readonly dice: () => number;
  daemon(): DaemonProcess;
  /** Kills the daemon and starts it anew. */
  restart(): Promise<void>;
  restartPeer(): Promise<void>;
  /** Kills the daemon and starts it again and again until it stays up. */
  restartUntilUp(): Promise<number>;
  /** Cuts the connections of the event readers. */
  cut(): void;
}

/** A plugin that takes the process with it as long as the file `armed` is there. */
export const BOMB = `
import { existsSync } from "node:fs";
import { join } from "node:path";
export default {
  kind: "feature", name: "bomb", version: "1.0.0", svc: "^0.1.0", capabilities: [],
  setup() {
    return { async start() { if (existsSync(join(process.cwd(), "armed"))) process.kill(process.pid, "SIGKILL"); } };
  },
};
`;

/** Does it, waits as long as it lasts, and answers what was not as it must be. */
export async function strike(kind: Strike, target: Target): Promise<string[]> {
  const { clock, dice } = target;
  switch (kind) {
    case "kill":
      await target.restart();
      return [];
    case "stop": {
      const { pid } = target.daemon();
      process.kill(pid, "SIGSTOP");
      await pause(1_000 + dice() * 5_000);
      process.kill(pid, "SIGCONT");
      return [];
    }
    case "clock forward":
    case "clock back": {
      const shift = kind === "clock forward" ? DAY_MS : -2 * DAY_MS;
      clock.turn(shift);
      await pause(3_000);
      clock.turn(-shift);
      return [];
    }
    case "nearly full disk":
      return fillDisk(target);
    case "cut":
      target.cut();
      return [];
    case "kill the peer":
      await target.restartPeer();
      return [];
    case "quarantine":
      return quarantine(target);
  }
}

/** Of a data folder with a disk of its own: somebody else takes its room but for a rest, and gives it back. A disk without any room is for `disk.test.ts`: there, answers are given up, in words. */
async function fillDisk({ folder }: Target): Promise<string[]> {
  const data = join(folder, ".svc");
  const theirs = join(data, "theirs");
  const chunk = Buffer.alloc(256 * 1024, 1);
  const free = () => {
    const { bavail, bsize } = statfsSync(data);
    return bavail * bsize;
  };
  while (free() > REST) writeFileSync(theirs, chunk, { flag: "a" });
  await pause(3_000);
  rmSync(theirs, { force: true });
  return [];
}

/** The plugin kills the daemon at its start until it is held back; mended, it is released by the command that the daemon names. */
async function quarantine(target: Target): Promise<string[]> {
  const armed = join(target.folder, "armed");
  writeFileSync(armed, "");
  const starts = await target.restartUntilUp();
  const svc = (...args: string[]) => spawnSync(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), ...args], { cwd: target.folder, encoding: "utf8" });
  // What is held back is not loaded: it is known by its file, and by its own name again once it runs.
  const bomb = () => {
    const { plugins } = JSON.parse(svc("daemon", "status", "--plugins", "--json").stdout) as { plugins: readonly { id: string; state: string }[] };
    return plugins.find(({ id }) => /^feature-(bomb|.*bomb\.mjs)$/.test(id));
  };
  const held = bomb();
  rmSync(armed);
  const released = svc("plugin", "retry", held?.id ?? "feature-bomb");
  const after = bomb();
  if (held?.state !== "quarantined" || after?.state !== "running")
    return [
      `a plugin that kills the daemon was ${held?.state} after ${starts} starts, and ${after?.state} once released: ${released.stdout}${released.stderr}`,
    ];
  return [];
}
