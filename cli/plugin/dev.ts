import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Health, PluginStatus, Source } from "@svc/kernel";
import { forPeople } from "@svc/kernel/log";
import { openFile } from "../change.ts";
import { type Cli, plain } from "../cli.ts";
import { declaredOf, pathOf, suiteOf } from "./look.ts";
import { conformanceOf, sampleOf } from "./sample.ts";
import { portIn, stagedConfig } from "./stage.ts";
import { type Subject, subjectAt } from "./subject.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/svc.cjs", import.meta.url));
/** Editors and compilers write several files for one change. */
const SETTLE_MS = 60;
const LOOK_MS = 20;
const UP_MS = 30_000;
/** Time limit of a stop before the process is ended. */
const STOP_MS = 1_500;

/**
 * Runs an author's plugin in a daemon of its own, and restarts that daemon whenever a file of the plugin changes: only a new process forgets a
 * module. Prints the plugin's state after each start, with file and line of a failure, and its log. The daemon has a folder of its own and an echo
 * agent; the operator's daemon and svc.json stay unchanged. Ends at Ctrl-C.
 */
export async function dev(cli: Cli, word: string, { contract = false }: { readonly contract?: boolean }): Promise<void> {
  const subject = subjectAt(cli, word);
  const folder = mkdtempSync(join(tmpdir(), "svc-dev-"));
  const changes = watchFiles(subject);
  const ended = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended.abort());
  const over = new Promise<void>((resolve) => ended.signal.addEventListener("abort", () => resolve(), { once: true }));
  cli.say(`Its daemon lives in ${folder}; talk to it with: svc --config ${join(folder, "svc.json")} daemon send assistant <text>`);
  try {
    while (!ended.signal.aborted) {
      const changed = changes.next();
      const life = await begin(cli, subject, folder, ended.signal).catch((error: Error) => {
        cli.print(error.message, { state: "failed", reason: error.message });
        return undefined;
      });
      if (contract && life !== undefined && !ended.signal.aborted) await tellContract(cli, subject);
      await Promise.race([changed, over]);
      await life?.stop();
    }
  } finally {
    changes.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  process.exit();
}

interface Life {
  stop(): Promise<void>;
}

async function begin(cli: Cli, subject: Subject, folder: string, signal: AbortSignal): Promise<Life> {
  const began = performance.now();
  const source = await declaredOf(subject);
  writeFileSync(join(folder, "svc.json"), JSON.stringify(await configFor(cli, subject, source), null, 2), { mode: 0o600 });
  const note = join(folder, ".svc/daemon.json");
  rmSync(note, { force: true });
  // The quarantine was for an earlier version of its code.
  rmSync(join(folder, ".svc/quarantine.json"), { force: true });
  const child = spawn(process.execPath, [PROGRAM, "--config", join(folder, "svc.json"), "daemon", "start", "--foreground"], {
    cwd: cli.folder,
    env: { ...process.env, SVC_CONFIG: "", SVC_LOG_LEVEL: process.env.SVC_LOG_LEVEL ?? "debug" },
    // Detached from the terminal's Ctrl-C: this process forwards the signal.
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let id: string | undefined = source.manifest === undefined ? undefined : source.id;
  let last = "";
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on("line", (line) => {
    last = showLine(cli, line, id) ?? last;
  });
  for (let port = portIn(note); !signal.aborted; port = portIn(note)) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() - began > UP_MS) break;
    if (port === undefined) {
      await pause(LOOK_MS);
      continue;
    }
    const found = await statusIn(port, source);
    id = found?.id ?? id;
    tellStatus(cli, found, performance.now() - began);
    return { stop: () => stop(child) };
  }
  await stop(child);
  throw new Error(signal.aborted ? "" : `its daemon did not come up: ${plain(last)}`);
}

/** Its section of svc.json where that has one, else its sample. */
async function configFor(cli: Cli, subject: Subject, { manifest }: Source): Promise<Record<string, unknown>> {
  const { whole } = sampleOf(subject);
  const at = manifest?.section;
  const own = at === undefined || !existsSync(cli.file) ? undefined : (await openFile(cli)).get(at, true);
  const sample = own === undefined ? whole : (at as string).split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), own);
  const switched = manifest?.activate === "enabled" && at !== undefined ? { section: at } : {};
  const config = stagedConfig({ path: pathOf(subject), sample: sample as Record<string, unknown>, ...switched }, "dev");
  if (manifest?.activate === "agent") Object.assign(config.agents as object, { plugin: { name: "Plugin", workspace: "./w", tier: manifest.name } });
  return config;
}

async function statusIn(port: number, source: Source): Promise<PluginStatus | undefined> {
  const { plugins } = (await (await fetch(`http://127.0.0.1:${port}/health`)).json()) as Health;
  return plugins.find(({ id }) => id === source.id) ?? plugins.find((plugin) => plugin.source === "path");
}

function tellStatus(cli: Cli, found: PluginStatus | undefined, tookMs: number): void {
  const { id = "the plugin", state = "not known", reason, provides = [], hooks = [] } = found ?? {};
  const things = [...provides, ...hooks.map((hook) => `hook ${hook}`)].join(", ");
  cli.print(`${id}: ${state} after ${Math.round(tookMs)} ms${reason === undefined ? (things === "" ? "" : `; ${things}`) : `: ${reason}`}`, found ?? null);
}

async function tellContract(cli: Cli, subject: Subject): Promise<void> {
  const module = conformanceOf(subject);
  if (module === undefined) return cli.say("contract: it exports no conformance module");
  try {
    const { tests } = await suiteOf(subject, module);
    const failed = tests.filter(({ error }) => error !== undefined);
    cli.say([`contract: ${tests.length - failed.length} of ${tests.length} passed`, ...failed.map(({ name, error }) => `  ${name}: ${error}`)].join("\n"));
  } catch (error) {
    cli.say(`contract: ${(error as Error).message}`);
  }
}

/** A line of the plugin's log, for people; a line that is not JSON is returned as the daemon's last output. */
function showLine(cli: Cli, line: string, id: string | undefined): string | undefined {
  let facts: { readonly plugin?: string } | null;
  try {
    facts = JSON.parse(line) as typeof facts;
  } catch {
    return line;
  }
  // What a plugin prints by itself may be JSON, too.
  if (typeof facts !== "object" || facts === null) return line;
  if (facts.plugin !== undefined && (facts.plugin === id || id === undefined)) cli.say(plain(forPeople(line).trimEnd()));
  return undefined;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  // Twice: the second signal stops without draining.
  child.kill("SIGINT");
  if ((await Promise.race([gone, pause(STOP_MS, undefined, { ref: false })])) !== undefined) return;
  child.kill("SIGKILL");
  await gone;
}

/** Watches the files that the daemon would run: the folder of the entry, the manifest and the sample. */
function watchFiles(subject: Subject): { next(): Promise<void>; close(): void } {
  const root = subject.folder ?? dirname(subject.file as string);
  const entry = subject.pkg?.svc?.entry;
  const built = subject.folder === undefined || entry === undefined ? root : dirname(join(subject.folder, entry));
  let heard: (() => void) | undefined;
  const watcher = watch(root, { recursive: true }, (_event, name) => {
    const path = join(root, name ?? "");
    const parts = relative(root, path).split(sep);
    if (parts.includes("node_modules") || parts.includes(".git") || parts.includes(".svc")) return;
    if (name === "package.json" || name === "sample.json" || `${path}/`.startsWith(`${built}/`)) heard?.();
  });
  return {
    next: () =>
      new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined;
        heard = () => {
          clearTimeout(timer);
          timer = setTimeout(resolve, SETTLE_MS);
        };
      }),
    close: () => watcher.close(),
  };
}
