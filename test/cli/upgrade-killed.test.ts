import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { formerOf, putInPlace, sweepKilled } from "../../cli/upgrade/installation.ts";
import { temporaryFolder } from "../kit/kernel.ts";

/** A process id that belonged to a process which has ended. */
const gone = () => spawnSync(process.execPath, ["-e", ""]).pid;

function release(folder: string, version: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ version }));
}

const versionOf = (folder: string) => (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version;

it("what a killed upgrade has left goes with the next one, and the release from before is the former one", async () => {
  const beside = await temporaryFolder();
  const own = { folder: join(beside, "cli"), version: "2" };
  release(own.folder, "2");
  // Killed when the new release stood in its place, and before the old one was put into it.
  const pid = gone();
  release(join(beside, `.upgrade-${pid}-aaaaaa/lib`), "2");
  release(join(beside, `.leaving-${pid}-bbbbbb/cli`), "1");
  release(join(beside, `.leaving-${pid}-bbbbbb/cli/.former`), "0");
  // One that is at work now, and what is somebody else's.
  release(join(beside, `.upgrade-${process.pid}-cccccc`), "3");
  release(join(beside, "other"), "1");
  sweepKilled(own);
  expect(readdirSync(beside).sort()).toEqual([`.upgrade-${process.pid}-cccccc`, "cli", "other"]);
  expect(formerOf(own)).toMatchObject({ version: "1" });
  expect(formerOf({ folder: join(own.folder, ".former"), version: "1" })).toBeUndefined();

  // A former release that is there stays.
  release(join(beside, `.leaving-${gone()}-dddddd/cli`), "0");
  sweepKilled(own);
  expect(formerOf(own)).toMatchObject({ version: "1" });
  putInPlace(own, { folder: join(own.folder, ".former"), version: "1" });
  expect([versionOf(own.folder), formerOf(own)?.version]).toEqual(["1", "2"]);
});
