import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Health, PluginStatus } from "@svc/kernel";
import { sleep, withTimeout } from "@svc/sdk";
import { type TortureCase, tortureCases, writeTorture } from "@svc/sdk/testing";
import { fail } from "../errors.ts";
import { portIn, type Staged, stagedConfig } from "./stage.ts";

/** Result of running a plugin beside misbehaving ones. */
export interface Beside {
  /** Names of the bad plugins that ran beside it. */
  readonly with: readonly string[];
  /** Its state alone: it must be the same beside the others. */
  readonly alone: string;
}

/** A staged plugin and the id under which its daemon knows it. */
export interface BesideTask extends Staged {
  readonly id: string;
}

const PROGRAM = fileURLToPath(new URL("../../bin/svc.cjs", import.meta.url));
const UP_MS = 90_000;
const STOP_MS = 30_000;
const LOOK_MS = 50;
/** Bad plugins that do their worst a moment after the start have done it then. */
const WORST_MS = 1_500;
/** A watchdog that does not wait as long as an operator's, where a bad plugin is meant to bring it out; elsewhere a slow machine must not. */
const WATCHDOG_MS = 1_500;
const PATIENT_WATCHDOG_MS = 30_000;

/**
 * Runs the plugin in real daemons, each in a folder and process of its own: alone, then beside every misbehaving plugin that a daemon survives, then
 * beside those that crash it until it quarantines them. Throws `SVC_CLI_PLUGIN_LOOK` with the differences.
 */
export async function runBeside(task: BesideTask): Promise<Beside> {
  const alone = await inDaemon(task, []);
  const crowds = [tortureCases.filter(({ ends }) => ends !== "quarantined"), tortureCases.filter(({ ends }) => ends === "quarantined")];
  for (const crowd of crowds) {
    const now = await inDaemon(task, crowd);
    const wrong = differences(alone, now);
    if (wrong.length > 0) throw refusal(task, `beside ${crowd.length} bad plugins (${crowd.map(({ name }) => name).join(", ")}) ${wrong.join("; ")}`);
  }
  const { state, reason } = alone;
  return { with: tortureCases.map(({ does }) => does), alone: reason === undefined ? state : `${state}: ${reason}` };
}

function differences(alone: PluginStatus, now: PluginStatus): string[] {
  const wrong: string[] = [];
  if (now.state !== alone.state) wrong.push(`it is ${now.state}${now.reason === undefined ? "" : ` (${now.reason})`}, alone it is ${alone.state}`);
  const lost = [...alone.provides, ...alone.hooks].filter((thing) => ![...now.provides, ...now.hooks].includes(thing));
  if (lost.length > 0) wrong.push(`it no longer provides ${lost.join(", ")}`);
  if (now.failures > alone.failures) wrong.push(`${now.failures - alone.failures} of its calls failed`);
  return wrong;
}

/** Runs a daemon with the plugin and the bad ones, restarting it whenever it dies; resolves with the plugin's status after all test cases ran. */
async function inDaemon(task: BesideTask, bad: readonly TortureCase[]): Promise<PluginStatus> {
  const folder = mkdtempSync(join(tmpdir(), "svc-torture-"));
  try {
    for (const one of bad) writeTorture(join(folder, one.name), one);
    writeFileSync(
      join(folder, "svc.json"),
      JSON.stringify(
        stagedConfig(
          task,
          "torture",
          bad.map(({ name }) => `./${name}`),
        ),
      ),
      { mode: 0o600 },
    );
    // One more start than there are plugins to be held back.
    const deaths = bad.filter(({ ends }) => ends === "quarantined").length;
    for (let starts = 0; starts <= deaths; starts += 1) {
      const found = await oneLife(task, folder, bad);
      if (found !== undefined) return found;
    }
    throw refusal(task, `the daemon was killed ${deaths + 1} times, where ${deaths} of the bad plugins kill it, once each`);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Undefined when the daemon was killed by a bad plugin, as it should be once for each such one. */
async function oneLife(task: BesideTask, folder: string, bad: readonly TortureCase[]): Promise<PluginStatus | undefined> {
  mkdirSync(join(folder, ".svc"), { recursive: true, mode: 0o700 });
  const note = join(folder, ".svc/daemon.json");
  rmSync(note, { force: true });
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [PROGRAM, "daemon", "start", "--foreground"], {
    cwd: folder,
    env: {
      PATH,
      HOME,
      SVC_LOG_LEVEL: "error",
      SVC_WATCHDOG_MS: String(bad.some(({ ends }) => ends === "quarantined") ? WATCHDOG_MS : PATIENT_WATCHDOG_MS),
      ...variablesOf(task.sample),
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said = (said + chunk).slice(-2_048);
  });
  const ended = once(child, "close") as Promise<[number | null, string | null]>;
  let gone = false;
  const closed = ended.then(() => {
    gone = true;
    return true;
  });
  const closesIn = (ms: number) => withTimeout(closed, ms, () => false);
  try {
    for (let waited = 0; !gone; waited += LOOK_MS) {
      if (waited > UP_MS) throw refusal(task, `the daemon was not up after ${UP_MS / 1000} s`);
      const port = portIn(note);
      if (port !== undefined) return await judged(port, task, bad);
      await sleep(LOOK_MS);
    }
  } catch (error) {
    if (!gone && !(await closesIn(WORST_MS * 4))) throw error;
  } finally {
    if (!gone) {
      // Alone it is stopped in good order; a stop that a bad plugin holds up says nothing about it.
      child.kill(bad.length === 0 ? "SIGTERM" : "SIGKILL");
      if (!(await closesIn(STOP_MS))) {
        child.kill("SIGKILL");
        await ended;
      }
    }
  }
  const [code, signal] = await ended;
  // Killed: a plugin did it. An exit code is a word of the daemon's own.
  if (signal === null) throw refusal(task, `the daemon ended with code ${code}: ${said.trim().split("\n").at(-1)}`);
  return undefined;
}

/** Lets the bad plugins act, and verifies that the daemon still works. Rejects if it dies in between. */
async function judged(port: number, task: BesideTask, bad: readonly TortureCase[]): Promise<PluginStatus> {
  const base = `http://127.0.0.1:${port}`;
  await sleep(WORST_MS);
  const answer = await fetch(`${base}/task`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ agent: "assistant", message: "still here" }),
    signal: AbortSignal.timeout(STOP_MS),
  });
  const { ok } = (await answer.json()) as { ok?: boolean };
  // One that holds or fails each message may fail this one: only a daemon without them must answer.
  if (!ok && bad.length === 0) throw refusal(task, `with it loaded the daemon answers no message: ${answer.status}`);
  const { plugins } = (await (await fetch(`${base}/health`, { signal: AbortSignal.timeout(STOP_MS) })).json()) as Health;
  const found = plugins.find(({ id }) => id === task.id);
  if (found === undefined) throw refusal(task, `a daemon does not list it as ${task.id}`);
  return found;
}

/** The variables that a sample names, each with its own name as its value. */
function variablesOf(sample: unknown): Record<string, string> {
  const names = [...JSON.stringify(sample).matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name]) => name as string);
  return Object.fromEntries(names.map((name) => [name, name]));
}

const refusal = ({ id }: BesideTask, reason: string) => fail("SVC_CLI_PLUGIN_LOOK", { plugin: id, reason });
