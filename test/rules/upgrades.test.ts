import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createKernel, type Kernel } from "@svc/kernel";
import type { Trace } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { besideUs } from "../../cli/catalog.ts";
import { ask, endDaemons, launch, startDaemon } from "../faults/daemon.harness.ts";
import { openPlatform, type Platform } from "../faults/platform.harness.ts";
import { temporaryFolder } from "../kit/kernel.ts";

/** Data folders of earlier versions, killed in the middle of their work (`upgrades/make.ts` says of what). */
const FOLDERS = join(import.meta.dirname, "upgrades");
const versions = readdirSync(FOLDERS)
  .filter((name) => name.endsWith(".tgz"))
  .map((name) => name.slice(0, -".tgz".length));
const PATIENCE = { timeout: 60_000, interval: 50 };

let platform: Platform | undefined;
let inside: Kernel | undefined;
afterEach(async () => {
  await endDaemons();
  await inside?.stop({ drainSeconds: 0 });
  inside = undefined;
  await platform?.close();
  platform = undefined;
});

async function unpack(version: string): Promise<string> {
  const folder = await temporaryFolder();
  const { status, stderr } = spawnSync("tar", ["-xzf", join(FOLDERS, `${version}.tgz`), "-C", folder], { encoding: "utf8" });
  expect(status, stderr).toBe(0);
  const file = join(folder, "svc.json");
  const config = JSON.parse(readFileSync(file, "utf8"));
  // Its work is taken up however long ago it was left.
  config.resume = { ...config.resume, maxAgeMinutes: 100 * 365 * 24 * 60 };
  config.plugins = [join(import.meta.dirname, "../faults/ledger.mjs")];
  writeFileSync(file, JSON.stringify(config, null, 2));
  return folder;
}

/** The daemon of a folder: as a program, or what it consists of, in this process. */
async function opened(folder: string, program: boolean): Promise<{ readonly port: number; end(): Promise<void> }> {
  const env = { SVC_TEST_LEDGER: join(folder, "ledger"), SVC_TEST_PLATFORM: platform?.url as string };
  if (program) {
    const { port, kill } = await startDaemon(folder, { env });
    return { port, end: () => kill("SIGTERM") };
  }
  Object.assign(process.env, env);
  const kernel = await createKernel({ config: join(folder, "svc.json"), folder, dataFolder: join(folder, ".svc"), known: besideUs(), listen: true });
  inside = kernel;
  await kernel.start();
  return { port: kernel.address?.port as number, end: () => kernel.stop() };
}

const runs = (folder: string) =>
  readFileSync(join(folder, "ledger"), "utf8")
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { text: string }).text);

describe.each(versions)("a data folder of %s", (version) => {
  it("is opened; what was left in the middle is finished once, in its order, and what had ended stays", { timeout: 120_000 }, async () => {
    const folder = await unpack(version);
    expect(runs(folder)).toEqual(["one", "two", "three", "four", "five"]);
    platform = await openPlatform();
    const { arrived } = platform;
    // Two folders stand for all that are opened by the program, and after a restart: that finds what this version has written.
    const isOneOfTwo = [0, versions.length - 1].includes(versions.indexOf(version));
    const daemon = await opened(folder, isOneOfTwo);
    await vi.waitFor(() => expect(arrived.length).toBeGreaterThanOrEqual(4), PATIENCE);
    const said = (chat: string) => arrived.filter((one) => one.chat === chat).map(({ text }) => text);
    // An answer that waited longer than an hour is given up with a word: once, whichever it is by now.
    expect(said("undelivered")).toEqual([expect.stringMatching(/^(did four|My answer could not be sent here within 60 minutes)/)]);
    expect(said("running")).toEqual(["did five", "did six"]);
    expect(said("waiting")).toEqual(["did seven"]);
    // Answered by the earlier version already.
    expect(said("ended")).toEqual([]);
    // The fifth was cut, so it ran again; each other once.
    expect(runs(folder).sort()).toEqual(["five", "five", "four", "one", "seven", "six", "three", "two"]);
    const { traces } = (await ask<{ traces: readonly Trace[] }>(daemon.port, "/traces?limit=20")).body;
    expect(traces.map(({ message, status }) => `${message} ${status}`).sort()).toEqual(
      ["five", "four", "one", "seven", "six", "three", "two"].map((text) => `${text} ok`),
    );
    // The conversation goes on, also after a restart.
    if (isOneOfTwo) await daemon.end();
    const again = isOneOfTwo ? await opened(folder, true) : daemon;
    await ask(again.port, "/said", { channel: "keyed", chat: "ended", text: "eight", key: "ended-eight" });
    await vi.waitFor(() => expect(said("ended")).toEqual(["did eight"]), PATIENCE);
    // A message that the earlier version had taken is known by its key.
    expect((await ask<{ duplicate?: boolean }>(again.port, "/said", { channel: "keyed", chat: "ended", text: "one", key: "ended-one" })).body).toMatchObject({
      duplicate: true,
    });
    await again.end();
    expect(existsSync(join(folder, ".svc/daemon.json"))).toBe(false);
  });
});

it("a data folder of a newer version is refused with what to do, and left as it is", async () => {
  const folder = await unpack(versions.at(-1) as string);
  const Database = createRequire(import.meta.resolve("@svc/store-sqlite"))("better-sqlite3");
  const database = new Database(join(folder, ".svc/svc.db"));
  const known = database.pragma("user_version", { simple: true }) as number;
  database.pragma(`user_version = ${known + 1_000}`);
  database.close();
  const daemon = launch(folder);
  expect(await daemon.ended).not.toBe(0);
  expect(daemon.said()).toMatch(/newer/);
  const after = new Database(join(folder, ".svc/svc.db"));
  expect(after.pragma("user_version", { simple: true })).toBe(known + 1_000);
  after.close();
});
