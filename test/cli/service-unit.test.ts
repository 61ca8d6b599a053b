import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";

const read = (name: string) => readFileSync(join(ROOT, "cli/systemd", name), "utf8");
const tried = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" });
const reason = tried.status === 0 ? undefined : "systemd-analyze is not installed";
if (reason !== undefined) console.warn(`skipped, the exposure of the systemd unit: ${reason}`);

/** What systemd-analyze says of the unit with drop-ins: its exposure in tenths, lower is safer. */
async function exposure(...dropIns: readonly string[]): Promise<number> {
  const folder = await temporaryFolder();
  const unit = join(folder, "svc.service");
  // The program may be absent where this runs, and the user.
  writeFileSync(unit, read("svc.service").replace(/^ExecStart=\S+/m, "ExecStart=/bin/true"));
  mkdirSync(`${unit}.d`);
  for (const name of dropIns) writeFileSync(join(`${unit}.d`, name), read(name));
  const { stdout, stderr } = spawnSync("systemd-analyze", ["security", "--offline=yes", "--no-pager", unit], { encoding: "utf8" });
  // An unknown or misspelt setting is told on standard error and ignored.
  expect(stderr).not.toMatch(/Unknown key|Failed to parse|Invalid/);
  return Number(/exposure level for svc\.service: ([\d.]+)/.exec(stdout)?.[1]) * 10;
}

it.skipIf(reason !== undefined)("the systemd unit is exposed at most 4.0, without engines at most 2.0", async () => {
  const base = await exposure();
  expect(base).toBeGreaterThan(0);
  expect(base).toBeLessThanOrEqual(40);
  const without = await exposure("no-engines.conf");
  expect(without).toBeGreaterThan(0);
  expect(without).toBeLessThanOrEqual(20);
});
