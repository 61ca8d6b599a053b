/**
 * Makes the data folder that a version of this repository leaves behind when it is killed in the middle of its work, as
 * `test/rules/upgrades/<commit>.tgz`: `npx jiti test/rules/upgrades/make.ts <folder of a built clone>...`; and a plugin compiled against the sdk of
 * that version. Each landing that changes what is stored, or the sdk, adds its own; none is made anew.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ask, endDaemons, pause, startDaemon, writeConfig } from "../../faults/daemon.harness.ts";
import { openPlatform } from "../../faults/platform.harness.ts";
import { ROOT } from "../../house/house.ts";
import { makePlugin } from "./make-plugin.ts";

/** Loaded by every version so far. */
const ENGINE = "test/faults/ledger.mjs";
/** Long enough that the kill comes in the middle. */
const SLOW_MS = "600000";

async function until(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await done()); await pause(50)) if (Date.now() > end) throw new Error(`not seen: ${what}`);
}

async function make(root: string): Promise<void> {
  const commit = spawnSync("git", ["rev-parse", "--short=7", "HEAD"], { cwd: root, encoding: "utf8" }).stdout.trim();
  await makePlugin(root, commit);
  const folder = await mkdtemp(join(tmpdir(), "svc-upgrade-"));
  mkdirSync(join(folder, "w"));
  writeFileSync(join(folder, "ledger.mjs"), readFileSync(join(ROOT, ENGINE)));
  const ledger = join(folder, "ledger");
  writeConfig(folder, {
    node: { id: "upgrade", name: "Upgrade", bind: "127.0.0.1:0", defaultAgent: "ledger" },
    agents: { ledger: { name: "Ledger", workspace: "./w", tier: "ledger", maxConcurrent: 1 } },
    plugins: ["./ledger.mjs"],
  });
  const platform = await openPlatform();
  const env = { SVC_TEST_LEDGER: ledger, SVC_TEST_PLATFORM: platform.url };
  const said = async (port: number, chat: string, text: string) => {
    const { status, body } = await ask(port, "/said", { channel: "keyed", chat, text, key: `${chat}-${text}` });
    if (status !== 200) throw new Error(`${commit}: ${status} ${JSON.stringify(body)}`);
  };
  const runs = () => (existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n").length : 0);

  const first = await startDaemon(folder, { env, root });
  // One after the other: what waits together is answered together.
  for (const [at, text] of ["one", "two", "three"].entries()) {
    await said(first.port, "ended", text);
    await until(`the answer to ${text}`, () => platform.arrived.length === at + 1);
  }
  await first.kill("SIGTERM");
  await platform.close();

  // The platform is gone: this answer cannot be delivered.
  const second = await startDaemon(folder, { env, root });
  await said(second.port, "undelivered", "four");
  await until("the fourth run", () => runs() === 4);
  await pause(1_000);
  await second.kill("SIGKILL");

  const third = await startDaemon(folder, { env: { ...env, SVC_TEST_LEDGER_MS: SLOW_MS }, root });
  await said(third.port, "running", "five");
  await until("the fifth run", () => runs() === 5);
  await said(third.port, "running", "six");
  await said(third.port, "waiting", "seven");
  await pause(1_000);
  await third.kill("SIGKILL");

  const archive = join(import.meta.dirname, `${commit}.tgz`);
  const names = ["svc.json", "ledger", ".svc", "w"];
  const packed = spawnSync(
    "tar",
    [
      "--exclude=daemon.json",
      "--exclude=ballast",
      "--exclude=daemon.lock",
      "--exclude=*.sock",
      "--sort=name",
      "--owner=0",
      "--group=0",
      "-czf",
      archive,
      ...names,
    ],
    {
      cwd: folder,
      encoding: "utf8",
    },
  );
  if (packed.status !== 0) throw new Error(packed.stderr);
  await rm(folder, { recursive: true, force: true });
  console.log(`${archive}: ${readFileSync(archive).length} bytes`);
}

try {
  for (const root of process.argv.slice(2)) await make(resolve(root));
} finally {
  await endDaemons();
}
