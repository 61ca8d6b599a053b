import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail } from "../base/errors.ts";
import { processAlive } from "../base/process-identity.ts";
import { stateStore } from "../base/state-store.ts";
import type { PluginStatus } from "../core/boot/kernel-api.ts";
import { readText } from "../core/config/document.ts";
import type { EditorDeps } from "../editor/editor.ts";
import { findStore } from "../editor/find-store.ts";
import { compareTasks, type TaskComparison } from "./compare-tasks.ts";
import { recordedTurns, type TurnQuery } from "./recorded-turns.ts";
import { type RehearsalProcess, startRehearsal } from "./rehearsal-process.ts";
import type { Finding } from "./rehearsed-task.ts";
import { wallsOf } from "./walls.ts";

/** Replacement for the present configuration: another file, or one more entry of `plugins`. */
export type ReplayWith = { readonly file: string } | { readonly plugin: string };

/** Options of a replay: the tasks and the other configuration. */
export interface ReplayOptions extends EditorDeps, TurnQuery {
  readonly with: ReplayWith;
  /** The program of a rehearsal's process. */
  readonly program: string;
  /** Called with each task after its comparison. */
  onTask?(task: TaskComparison): void;
}

/** Result of a replay. */
export interface ReplayReport {
  /** Walls of the processes in which it ran. */
  readonly walls: readonly string[];
  readonly tasks: readonly TaskComparison[];
  readonly same: number;
  readonly different: number;
  /** Findings from setting up the plugins of the other configuration that the present one does not have. */
  readonly findings: readonly Finding[];
  /** Plugins that do not run with it, with the reason. */
  readonly notRunning: readonly string[];
}

/**
 * Rehearses recorded tasks with the present configuration and with another one, each in a process of its own on a copy of the state, and compares the
 * results. The daemon is not affected and may run meanwhile. Throws `SVC_CONFIG_*` if one of the two cannot start, `SVC_TRACE_UNKNOWN`,
 * `SVC_REHEARSAL_STORE`, `SVC_REHEARSAL_ENDED`.
 */
export async function replayWith(options: ReplayOptions): Promise<ReplayReport> {
  const { file, dataFolder, known, env, program, with: other } = options;
  const store = await findStore(options);
  if (store.backup === undefined) throw fail("SVC_REHEARSAL_STORE", { store: store.name });
  await sweep();
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), `${SCRATCH}${process.pid}-`)));
  const open: RehearsalProcess[] = [];
  try {
    const [one, two] = ["present", "other"].map((name) => join(scratch, name)) as [string, string];
    mkdirSync(one, { mode: 0o700 });
    await store.backup({ folder: dataFolder, to: one });
    cpSync(one, two, { recursive: true });
    const state = stateStore(await store.open({ folder: two, now: Date.now }));
    const turns = await recordedTurns(state, options).finally(() => state.close());
    const text = readText(file);
    const start = async (storeFolder: string, what: { readonly text: string; readonly plugin?: string }) => {
      const walls = await wallsOf(program, { scratch: storeFolder, dataFolder, storeFiles: store.files ?? [] });
      const walled = walls.names.includes("bubblewrap");
      const process = await startRehearsal(walls, { file, dataFolder, storeFolder, known, env, walled, ...what });
      open.push(process);
      return { process, walls };
    };
    const { process: present, walls } = await start(one, { text });
    const { process: changed } = await start(two, "file" in other ? { text: readText(other.file) } : { text, plugin: other.plugin });
    const tasks: TaskComparison[] = [];
    for (const batch of turns) {
      const [before, after] = await Promise.all([present.task(batch), changed.task(batch)]);
      const compared = compareTasks(batch[0], before, after);
      tasks.push(compared);
      options.onTask?.(compared);
    }
    const same = tasks.filter((task) => task.same).length;
    const findings = changed.findings.filter(({ plugin, reason }) => !present.findings.some((found) => found.plugin === plugin && found.reason === reason));
    return { walls: walls.names, tasks, same, different: tasks.length - same, findings, notRunning: notRunning(changed.plugins, present.plugins) };
  } finally {
    await Promise.all(open.map((process) => process.close()));
    await rm(scratch, { recursive: true, force: true });
  }
}

const SCRATCH = "svc-rehearsal-";

/** Removes the copies that a replay has left which was killed. */
async function sweep(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(new RegExp(`^${SCRATCH}(\\d+)-`).exec(name)?.[1]);
    // One of another user stays where it is.
    if (!Number.isNaN(pid) && !processAlive(pid)) await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Plugins that would not run, though they do in the present configuration or are not known there. */
function notRunning(changed: readonly PluginStatus[], present: readonly PluginStatus[]): readonly string[] {
  const before = new Map(present.map(({ id, state }) => [id, state]));
  return changed.flatMap(({ id, state, reason }) => {
    const runs = state === "running" || state === "loaded" || state === before.get(id);
    return runs ? [] : [`${id} is ${state}${reason === undefined ? "" : `: ${reason}`}`];
  });
}
