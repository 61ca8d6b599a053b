import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type FarDaemon, farDaemon, isOf, programIn } from "./far-daemon.ts";
import type { Order, Outcome, Step } from "./order.ts";

/** State before a switch, kept until that has ended, so that the next deployment can roll back one that was killed. */
interface Pending {
  readonly release: string;
  readonly former?: string;
  /** The previous texts; null for a file that did not exist, absent for one that was not changed. */
  readonly config?: string | null;
  readonly env?: string | null;
  readonly pid?: number;
}

const CONFIG = "svc.json";
const ENVIRONMENT = ".env";
const PENDING = "pending.json";
const LAST = "last.json";
const WHOLE = ".whole";
const BACK_SECONDS = 60;

/**
 * Activates a release: checks the configuration with it, switches `current`, restarts the daemon by its own rules and polls its health. If it does
 * not come up in time, it is rolled back. Not concurrent: one process at a time.
 */
export async function switchTo(order: Order, tell: (line: Step | Outcome) => void): Promise<Outcome> {
  const { folder, release } = order;
  const daemon = farDaemon(folder);
  await recover(folder, daemon, tell);
  const pid = daemon.pid();
  const foreign = pid === undefined ? undefined : foreignProgram(folder, daemon, pid);
  if (foreign !== undefined) return { outcome: "refused", kind: "foreign", reason: foreign };
  const former = currentOf(folder);
  const pending: Pending = {
    release,
    ...(former === undefined ? {} : { former }),
    ...(order.config === undefined ? {} : { config: textOf(join(folder, CONFIG)) }),
    ...(order.env === undefined ? {} : { env: textOf(join(folder, ENVIRONMENT)) }),
    ...(pid === undefined ? {} : { pid }),
  };
  writeWhole(join(folder, "releases", PENDING), JSON.stringify(pending));
  const problem = await place(order, tell);
  if (problem !== undefined) {
    undo(folder, pending);
    return { outcome: "refused", kind: "config", reason: problem };
  }
  linkTo(folder, release);
  tell({ step: former === undefined ? `current is ${release}` : `current was ${former} and is ${release}` });
  const said = pid === undefined ? await start(daemon, tell) : await restart(daemon, pid, order, tell);
  const reason = said ?? (await daemon.well(release, pid, order.waitSeconds));
  if (reason !== undefined) return takeBack(folder, daemon, pending, reason, tell);
  return settle(folder, daemon, order, former);
}

/** The switch is over and good. */
function settle(folder: string, daemon: FarDaemon, { release, keep }: Order, former: string | undefined): Outcome {
  rmSync(join(folder, "releases", PENDING), { force: true });
  relinkSdk(folder);
  prune(folder, release, former, keep);
  const { pid = 0, host = "", port = 0 } = daemon.note() ?? {};
  return { outcome: "up", release, ...(former === undefined ? {} : { former }), pid, address: `${host}:${port}` };
}

/** Resolves with undefined once the start was requested; else with the reason why the daemon did not start. */
async function start(daemon: FarDaemon, tell: (line: Step) => void): Promise<string | undefined> {
  tell({ step: "no daemon ran there; starting it" });
  const { code, err } = await daemon.svc(["daemon", "start", "--json"]);
  return code === 0 ? undefined : wordsOf(err, code);
}

async function restart(daemon: FarDaemon, pid: number, { by, reason, release }: Order, tell: (line: Step | Outcome) => void): Promise<string | undefined> {
  tell({ step: `asking the daemon (pid ${pid}) to restart; running work may finish first` });
  const over = new AbortController();
  const asked = daemon.svc(["daemon", "restart", "--by", by, "--reason", reason, "--json"], over.signal);
  // The command waits a minute for a successor that may be dead already.
  const deserted = daemon.deserted(over.signal).then(() => ({ code: null, out: "", err: `the new daemon ended while it started: ${daemon.lastWords()}` }));
  const { code, out, err } = await Promise.race([asked, deserted]);
  over.abort();
  if (code !== 0) return wordsOf(err, code);
  const { restarted, at } = JSON.parse(out) as { readonly restarted: boolean; readonly at?: string };
  if (restarted || at === undefined) return undefined;
  tell({ outcome: "held", release, at });
  // The daemon restarts by itself then; this process waits for it, and reports to the caller now.
  for (let until = Date.parse(at) + HELD_MS; Date.now() < until && daemon.pid() === pid; ) await new Promise((done) => setTimeout(done, 500));
  return daemon.pid() === pid ? `the restart of ${at} has not come` : undefined;
}

/** A held restart has its drain before it, in milliseconds. */
const HELD_MS = 24 * 3_600_000;

/** Restores the former release, or leaves it running. */
async function takeBack(folder: string, daemon: FarDaemon, pending: Pending, reason: string, tell: (line: Step) => void): Promise<Outcome> {
  const { former, pid, release } = pending;
  const stayed = pid !== undefined && daemon.pid() === pid;
  if (stayed) {
    undo(folder, pending);
    return { outcome: "refused", kind: "failed", reason };
  }
  tell({ step: `${release} did not come up: ${reason}` });
  const note = daemon.note();
  const supervised = note !== undefined && note.log === undefined;
  await daemon.end();
  undo(folder, pending);
  const named = former === undefined ? {} : { former };
  // On a first deployment there is nothing to go back to.
  if (former === undefined || pid === undefined) return { outcome: "back", reason, ...named, back: former !== undefined };
  tell({ step: `going back to ${former}` });
  // A supervisor restarts its service by itself; a second start is refused and harmless.
  if (supervised && (await daemon.well(former, pid, BACK_SECONDS / 2)) === undefined) return { outcome: "back", reason, ...named, back: true };
  await daemon.svc(["daemon", "start", "--json"]);
  return { outcome: "back", reason, ...named, back: (await daemon.well(former, pid, BACK_SECONDS)) === undefined };
}

/** Finishes a switch whose process was killed if its daemon is up, else rolls it back. */
async function recover(folder: string, daemon: FarDaemon, tell: (line: Step) => void): Promise<void> {
  const file = join(folder, "releases", PENDING);
  const text = textOf(file);
  if (text === null) return;
  const pending = JSON.parse(text) as Pending;
  const { release, pid } = pending;
  if (currentOf(folder) === release && (await daemon.sickness(release, pid)) === undefined) return rmSync(file, { force: true });
  tell({ step: `an earlier deployment of ${release} broke off; what stood before it is put back first` });
  await takeBack(folder, daemon, pending, "it broke off", tell);
}

/** Puts configuration and `.env` into their places once the release's own program finds them good; else says why not. */
async function place({ folder, release, config, env }: Order, tell: (line: Step) => void): Promise<string | undefined> {
  if (env !== undefined) writeWhole(join(folder, ENVIRONMENT), env);
  const proposed = join(folder, config === undefined ? CONFIG : "svc.deploying.json");
  if (config !== undefined) writeWhole(proposed, config);
  if (!existsSync(proposed)) return `there is no ${CONFIG} there, and none was sent`;
  const { code, said } = await check(folder, release, proposed);
  if (config !== undefined && code === 0) renameSync(proposed, join(folder, CONFIG));
  else if (config !== undefined) rmSync(proposed, { force: true });
  if (code !== 0) return said;
  tell({ step: `the configuration ${config === undefined ? "there" : "sent"} is valid for ${release}` });
  return undefined;
}

function check(folder: string, release: string, file: string): Promise<{ readonly code: number | null; readonly said: string }> {
  return new Promise((resolve) => {
    const program = programIn(join(folder, "releases", release));
    const child = spawn(process.execPath, [program, "config", "check", "--config", file], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        said += chunk;
      });
    child.once("error", (error) => resolve({ code: null, said: error.message }));
    child.once("close", (code) => resolve({ code, said: wordsOf(said, code) }));
  });
}

function undo(folder: string, { former, config, env }: Pending): void {
  putBack(join(folder, CONFIG), config);
  putBack(join(folder, ENVIRONMENT), env);
  if (former === undefined) rmSync(join(folder, "current"), { force: true });
  else linkTo(folder, former);
  rmSync(join(folder, "releases", PENDING), { force: true });
}

function putBack(file: string, text: string | null | undefined): void {
  if (text === undefined || text === textOf(file)) return;
  if (text === null) rmSync(file, { force: true });
  else writeWhole(file, text);
}

/** Why that daemon's program cannot be exchanged by a switch; undefined where it can. */
function foreignProgram(folder: string, daemon: FarDaemon, pid: number): string | undefined {
  const program = daemon.note()?.program;
  const current = currentOf(folder);
  if (program !== undefined && current !== undefined && isOf(program, folder, current)) return undefined;
  return `the daemon there (pid ${pid}) runs ${program ?? "another program"}, which was not deployed and starts anew as what it is. Stop it there (svc daemon stop; with systemd: let the unit start ${programIn(join(folder, "current"))}), then deploy again`;
}

/** Atomic: at each moment `current` leads to a whole release. */
function linkTo(folder: string, release: string): void {
  const aside = join(folder, `.current-${process.pid}`);
  rmSync(aside, { force: true });
  symlinkSync(join("releases", release), aside);
  renameSync(aside, join(folder, "current"));
}

function currentOf(folder: string): string | undefined {
  try {
    return relative("releases", readlinkSync(join(folder, "current")));
  } catch {
    return undefined;
  }
}

/** Points the sdk link of plugins installed there away from a release that will be removed. */
function relinkSdk(folder: string): void {
  const link = join(folder, ".svc/node_modules/@svc/sdk");
  try {
    if (!lstatSync(link).isSymbolicLink()) return;
  } catch {
    return;
  }
  const aside = `${link}.${process.pid}`;
  symlinkSync(join(folder, "current/node_modules/@svc/sdk"), aside);
  renameSync(aside, link);
}

/** Removes the oldest releases but for the newest `keep` beside the one that runs and the one before it. */
function prune(folder: string, release: string, former: string | undefined, keep: number): void {
  const releases = join(folder, "releases");
  const others = readdirSync(releases)
    .filter((name) => name !== release && name !== former && existsSync(join(releases, name, WHOLE)))
    .sort((a, b) => statSync(join(releases, b, WHOLE)).mtimeMs - statSync(join(releases, a, WHOLE)).mtimeMs);
  for (const name of others.slice(Math.max(0, keep - (former === undefined ? 0 : 1)))) {
    // Removes the marker first: a partially removed folder is not a release.
    rmSync(join(releases, name, WHOLE), { force: true });
    rmSync(join(releases, name), { recursive: true, force: true });
  }
}

/** Kept for the next look: how it ended, when, and with which configuration. */
export function remember(folder: string, outcome: Outcome, config: string | undefined): void {
  const file = join(folder, "releases", LAST);
  const before = JSON.parse(textOf(file) ?? "{}") as { readonly config?: string };
  const hash = config !== undefined && outcome.outcome === "up" ? createHash("sha256").update(config).digest("hex") : before.config;
  writeWhole(file, JSON.stringify({ ...outcome, endedAt: new Date().toISOString(), ...(hash === undefined ? {} : { config: hash }) }));
}

function writeWhole(file: string, text: string): void {
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
  const aside = `${file}.${process.pid}.tmp`;
  writeFileSync(aside, text, { mode: 0o600, flush: true });
  renameSync(aside, file);
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

const wordsOf = (said: string, code: number | null): string => {
  const words = said.trim().replace(/^svc: /, "");
  try {
    const { error } = JSON.parse(words) as { readonly error?: unknown };
    if (typeof error === "string") return error;
    if (typeof error === "object" && error !== null && "message" in error) return String(error.message);
  } catch {
    // Words for people.
  }
  return words === "" ? `it ended with code ${code}` : words.split("\n").slice(0, 6).join(" ");
};
