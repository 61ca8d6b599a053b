import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What a start needs, in bytes. */
const PROBE = 64 * 1024;

/** That the disk of a folder is full, with the next step, found by writing a small file there; undefined when it is not, or the file is refused otherwise. */
export function whyNoRoom(folder: string): string | undefined {
  // A name that a daemon sweeps, should this process be killed.
  const probe = join(folder, `.room.${process.pid}.0.tmp`);
  try {
    writeFileSync(probe, Buffer.alloc(PROBE, "svc looks whether there is room. "), { mode: 0o600, flag: "wx" });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EDQUOT") return `the disk quota of this user is used up for ${folder}; free some room there`;
    return code === "ENOSPC" ? `the disk of ${folder} is full; free some room there (see df -h ${folder})` : undefined;
  } finally {
    rmSync(probe, { force: true });
  }
}
