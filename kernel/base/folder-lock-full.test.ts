import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockFolder, withRoom } from "./folder-lock.ts";
import { smallDisk, startChild } from "./processes.harness.ts";

let folder: string;
let disk: ReturnType<typeof smallDisk>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-full-"));
  disk = smallDisk(folder, "1m");
});
afterEach(async () => {
  disk?.remove();
  await rm(folder, { recursive: true });
});

/** Others take all room that is left. */
function fill(): void {
  try {
    for (;;) writeFileSync(join(folder, "theirs"), Buffer.alloc(4096, 1), { flag: "a" });
  } catch {
    // Full.
  }
}

/** The file in which a store keeps room, on a disk that has no other. */
function ballastOnFullDisk(): string {
  const ballast = join(folder, "ballast");
  writeFileSync(ballast, Buffer.alloc(300 * 1024, 1));
  fill();
  return ballast;
}
const full = expect.objectContaining({ code: "SVC_FOLDER_FULL" });

it("FAULT-09 a start on a full disk gives up the ballast; without one it names the folder and the next step", (ctx) => {
  if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
  const ballast = ballastOnFullDisk();
  withRoom(folder, () => lockFolder(folder)).release();
  expect(existsSync(ballast)).toBe(false);
  fill();
  expect(() => withRoom(folder, () => lockFolder(folder))).toThrow(full);
  expect(() => withRoom(folder, () => lockFolder(folder))).toThrow(`The disk of the data folder ${folder} is full`);
});

it("FAULT-71 a second daemon on a full disk is told the pid of the first, whose ballast stays", async (ctx) => {
  if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
  const child = startChild("lock", folder);
  await child.printed(1);
  const ballast = ballastOnFullDisk();
  const running = expect.objectContaining({ code: "SVC_DAEMON_RUNNING", pid: child.process.pid });
  expect(() => withRoom(folder, () => lockFolder(folder))).toThrow(running);
  expect(existsSync(ballast)).toBe(true);
  child.process.kill("SIGKILL");
  await child.ended;
  withRoom(folder, () => lockFolder(folder)).release();
  expect(existsSync(ballast)).toBe(false);
});

it("FAULT-09 gives up the ballast for what the look at the free bytes does not see, and tells any other error as it is", () => {
  const ballast = join(folder, "ballast");
  writeFileSync(ballast, "kept");
  const quota = Object.assign(new Error("EDQUOT: quota exceeded, write"), { code: "EDQUOT" });
  expect(
    withRoom(folder, () => {
      if (existsSync(ballast)) throw quota;
      return "written";
    }),
  ).toBe("written");
  writeFileSync(ballast, "kept");
  const other = Object.assign(new Error("EIO: i/o error, write"), { code: "EIO" });
  expect(() =>
    withRoom(folder, () => {
      throw other;
    }),
  ).toThrow(other);
  expect(existsSync(ballast)).toBe(true);
});
