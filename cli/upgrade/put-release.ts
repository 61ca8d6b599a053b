import { spawn } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CONFIG, STATE, takeBackup } from "../backup/take-backup.ts";
import type { Cli } from "../cli.ts";
import { START_MS, stopDaemon } from "../daemon/detach.ts";
import { restart } from "../daemon/restart.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import { npmSays } from "../plugin/npm.ts";
import { formerOf, type Installation, installAside, ownInstallation, PACKAGE, programOf, putInPlace, sweepKilled } from "./installation.ts";
import { markedAsUpgrade } from "./mark.ts";

/** One check before anything is changed. */
interface Look {
  readonly what: string;
  readonly ok: boolean;
  readonly says: string;
}

/**
 * Upgrades this installation to another release: installed beside it, tried on a copy of the state, then switched while the daemon is down; if the
 * daemon does not come up, it is rolled back.
 */
export async function upgrade(cli: Cli, word: string | undefined, { check }: { readonly check: boolean }): Promise<void> {
  const own = ownInstallation();
  sweepKilled(own);
  const wanted = await npmSays(dirname(own.folder), ["view", `${PACKAGE}@${word ?? "latest"}`, "version"]);
  const version = wanted.split("\n").at(-1)?.split(" ").at(-1)?.replaceAll("'", "") ?? "";
  if (version === "") throw fail("SVC_CLI_UPGRADE", { reason: `the registry has no ${PACKAGE} ${word ?? ""}` });
  if (version === own.version) return cli.print(`${PACKAGE} ${version} is what runs here.`, { version, upgraded: false });
  await installAside(own, `${PACKAGE}@${version}`, async (next) => {
    const looks = await lookAt(cli, next);
    for (const { what, ok, says } of looks) cli.say(`${ok ? "ok     " : "REFUSED"}  ${what}: ${says}`);
    const fits = looks.every(({ ok }) => ok);
    if (!fits) process.exitCode = EXIT.config;
    if (!fits || check) {
      cli.print(fits ? `${version} can take the place of ${own.version}: svc upgrade` : `${version} was not installed; ${own.version} runs on.`, {
        version,
        upgraded: false,
        looks,
      });
      return;
    }
    await change(cli, own, next);
  });
}

/** Restores the installation from before the last upgrade; the current one is kept in its place. */
export async function rollBack(cli: Cli): Promise<void> {
  const own = ownInstallation();
  sweepKilled(own);
  const former = formerOf(own);
  if (former === undefined) throw fail("SVC_CLI_UPGRADE", { reason: `there is no former installation beside ${own.folder}` });
  const looks = await lookAt(cli, former);
  const refused = looks.find(({ ok }) => !ok);
  if (refused !== undefined) throw fail("SVC_CLI_UPGRADE", { reason: `${former.version} cannot go on here: ${refused.what}: ${refused.says}` });
  await change(cli, own, former);
}

async function change(cli: Cli, own: Installation, next: Installation): Promise<void> {
  const { lockHolder } = await import("@svc/kernel/folder");
  // Where another process watches over the daemon, that one starts it anew.
  const running = lockHolder(cli.dataFolder) !== undefined;
  const detached = running && cli.note()?.log !== undefined;
  const backup = existsSync(cli.dataFolder)
    ? await takeBackup(cli, join(cli.folder, `svc-backup-before-${next.version}-${Date.now()}`), own.version)
    : undefined;
  await shielded(cli, () => exchange(cli, own, next, { running, detached, backup: backup?.folder }));
}

interface Present {
  readonly running: boolean;
  /** In the background: nothing else starts it anew. */
  readonly detached: boolean;
  readonly backup: string | undefined;
}

async function exchange(cli: Cli, own: Installation, next: Installation, { running, detached, backup }: Present): Promise<void> {
  const switched = async () => {
    if (detached) await stopDaemon(silent(cli), { seconds: undefined, now: false });
    putInPlace(own, next);
    return detached ? await comesUp(cli, own) : running ? await cameAnew(cli) : undefined;
  };
  const came = await (running ? markedAsUpgrade(cli.dataFolder, switched) : switched());
  if (came !== undefined) {
    const former = formerOf(own) as Installation;
    putInPlace(own, former);
    const again = detached ? await comesUp(cli, own) : undefined;
    const state =
      again === undefined ? `${own.version} is in place again${detached ? " and runs" : ""}` : `${own.version} is in place again, and does not start: ${again}`;
    throw fail("SVC_CLI_UPGRADE", { reason: `${next.version} does not come up (${came}); ${state}` });
  }
  const lines = [
    `svc ${next.version} is in the place of ${own.version}${running ? ", and the daemon runs on it" : ""}.`,
    ...(backup === undefined ? [] : [`What was there before: ${backup}`]),
    "Back to it: svc upgrade --rollback",
  ];
  cli.print(lines.join("\n"), { version: next.version, former: own.version, upgraded: true, running, ...(backup && { backup }) });
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ended in the middle, by Ctrl-C or with its terminal, the exchange would leave no daemon running: until it is over signals end nothing. */
async function shielded(cli: Cli, work: () => Promise<void>): Promise<void> {
  const goOn = (signal: NodeJS.Signals) => {
    if (signal !== "SIGHUP")
      cli.say("The upgrade goes on, so that a daemon runs at its end. What it waits for may be running work: svc daemon stop --now interrupts that.");
  };
  for (const signal of SIGNALS) process.on(signal, goOn);
  try {
    await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, goOn);
  }
}

/** Tests the new program with this folder's configuration and a copy of its state. Changes nothing in this folder. */
export async function lookAt(cli: Cli, next: Installation): Promise<Look[]> {
  const looks: Look[] = [await look("the program runs", next, ["--version"], (out) => out)];
  if (!existsSync(cli.file)) return looks;
  looks.push(await look("svc.json", next, ["config", "check", "--config", cli.file], () => "valid"));
  if (!existsSync(cli.dataFolder)) return looks;
  const folder = mkdtempSync(join(tmpdir(), "svc-upgrade-"));
  try {
    const copy = join(folder, "copy");
    const { stateIn } = await takeBackup(cli, copy, next.version);
    if (stateIn !== undefined) {
      // On a server: the copy has nothing of it, and a migration there would be one of the state itself.
      looks.push(await look(`the state in ${stateIn}`, next, ["db", "status", "--config", cli.file], (out) => out.split("\n")[1] ?? ""));
      return looks;
    }
    const tried = join(folder, "tried");
    cpSync(join(copy, STATE), join(tried, ".svc"), { recursive: true });
    copyFileSync(join(copy, CONFIG), join(tried, "svc.json"));
    const config = ["--config", join(tried, "svc.json")];
    looks.push(await look("a copy of the state", next, ["db", "migrate", ...config], (out) => out.split("\n")[0] ?? ""));
    if (looks.at(-1)?.ok === true) looks.push(await look("the copy, read whole", next, ["db", "check", ...config], () => "sound"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return looks;
}

async function look(what: string, next: Installation, args: readonly string[], says: (out: string) => string): Promise<Look> {
  const { code, out, err } = await run(next, args);
  return code === 0 ? { what, ok: true, says: says(out.trim()) } : { what, ok: false, says: err.trim() || out.trim() || `it ended with code ${code}` };
}

/** Starts the daemon from the current installation. Resolves with why it is not up; undefined when it is. */
async function comesUp(cli: Cli, own: Installation): Promise<string | undefined> {
  const { code, out, err } = await run(own, ["daemon", "start", "--config", cli.file], { cwd: cli.folder, detached: true });
  return code === 0 ? undefined : err.trim() || out.trim() || `it ended with code ${code}`;
}

async function cameAnew(cli: Cli): Promise<string | undefined> {
  try {
    const answer = await restart(cli, { by: process.env.USER ?? "svc upgrade", reason: "upgrade" });
    return "pid" in answer ? undefined : `the restart is held until ${answer.at}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The same command line host without its words. */
const silent = (cli: Cli): Cli => ({ ...cli, print: () => {} });

/** `detached`: out of reach of Ctrl-C. */
async function run(
  installation: Installation,
  args: readonly string[],
  options: { readonly cwd?: string; readonly detached?: boolean } = {},
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [programOf(installation), ...args], { stdio: ["ignore", "pipe", "pipe"], ...options });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  let code: number | null | undefined;
  child.once("error", (error) => {
    err += error.message;
    code = null;
  });
  child.once("close", (ended) => {
    code = ended;
  });
  for (let waited = 0; code === undefined && waited < 2 * START_MS; waited += 50) await pause(50);
  if (code === undefined) child.kill("SIGKILL");
  return { code: code ?? null, out, err };
}
