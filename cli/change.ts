import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Editor } from "@svc/kernel";
import { firstParty } from "./catalog.ts";
import type { Cli } from "./cli.ts";
import { fail } from "./errors.ts";
import { NO_DAEMON } from "./exit.ts";

/** What the daemon made of a change. */
export interface Verdict {
  /** The daemon of this folder runs and has taken the file. */
  readonly running: boolean;
  /** The whole change is in force. */
  readonly applied: boolean;
  /** A part of it is, where something waits for a restart. */
  readonly partly?: boolean;
  /** Nothing reads the setting in this version. */
  readonly unread?: boolean;
  /** Changed paths that wait for a restart. */
  readonly restartRequired: readonly string[];
  /** Why it is not in force yet, when it is not. */
  readonly reloadSkipped?: string;
  readonly failed?: readonly { readonly plugin: string; readonly reason: string }[];
}

/** Open svc.json for reading and changing it in place. */
export async function openFile(cli: Cli): Promise<Editor> {
  const { openEditor } = await import("@svc/kernel");
  return openEditor({ file: cli.file, dataFolder: cli.dataFolder, known: firstParty().map(({ folder }) => folder), env: process.env });
}

/**
 * Save a change that the checks allow, and wait for what the daemon says to it. A change the daemon refuses is taken back, so that
 * the file never holds a setting that a running daemon refused. A stopped daemon is not a failure: the file is written.
 */
export async function applyChange(cli: Cli, editor: Editor, options: { readonly backup?: boolean } = {}): Promise<Verdict> {
  const before = editor.original;
  await editor.save(options);
  try {
    const report = (await cli.request("POST", "/reload")) as Pick<Verdict, "restartRequired" | "failed"> & {
      readonly changed: readonly string[];
    };
    const { changed, restartRequired, failed = [] } = report;
    return { running: true, applied: restartRequired.length === 0, partly: changed.length > restartRequired.length, restartRequired, failed };
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    if (NO_DAEMON.has(code)) {
      const why = code === "SVC_CLI_NO_DAEMON" ? "the daemon is not running" : message;
      return { running: false, applied: false, restartRequired: [], reloadSkipped: `ECONNREFUSED: ${why}` };
    }
    await editor.restore(before);
    throw fail("SVC_CLI_TASK_FAILED", { reason: `the daemon refused the change, and it was taken back: ${(error as Error).message}` });
  }
}

/** So often a change is made again on a text that somebody else has changed elsewhere. */
const TRIES = 10;
/** How long another change of ours may take, in milliseconds. */
const TURN_MS = 30_000;

/**
 * Change one path of svc.json and wait for the verdict. One change at a time, as far as they are ours; where somebody else has saved the
 * file meanwhile, the change is made again on the new text, unless that changed the same path: then `SVC_CONFIG_CHANGED`.
 */
export async function changePath(cli: Cli, path: string, edit: (editor: Editor) => void): Promise<Verdict> {
  let seen: string | undefined;
  for (let tries = 1; ; tries += 1) {
    const done = await takeTurn(cli);
    try {
      const editor = await openFile(cli);
      const value = JSON.stringify(editor.get(path, true)) ?? "";
      if (seen !== undefined && value !== seen) throw fail("SVC_CLI_CHANGED", { file: cli.file, path });
      seen = value;
      edit(editor);
      const verdict = await applyChange(cli, editor);
      return editor.isUnread(path) ? { ...verdict, applied: false, unread: true } : verdict;
    } catch (error) {
      if ((error as { code?: string }).code !== "SVC_CONFIG_CHANGED" || tries === TRIES) throw error;
    } finally {
      done();
    }
    await pause(Math.random() * 100);
  }
}

/** Before the first start there is no folder for the lock, and hardly anybody to wait for. */
async function takeTurn({ dataFolder }: Cli): Promise<() => void> {
  const { tryLock } = await import("@svc/kernel");
  for (let waited = 0; existsSync(dataFolder) && waited < TURN_MS; waited += 25) {
    const turn = tryLock(join(dataFolder, "config.lock"));
    if ("release" in turn) return turn.release;
    await pause(25);
  }
  return () => {};
}

/** The verdict for people: one of "in force", "waits for a restart" and "not in force yet". */
export function describeVerdict({ running, partly, unread, restartRequired, reloadSkipped = "", failed = [] }: Verdict): string {
  const why = reloadSkipped.replace(/^ECONNREFUSED: /, "");
  const waits = `${partly ? "In force but for what waits" : "Waits"} for a restart (svc daemon restart): ${restartRequired.join(", ")}`;
  if (unread) return "It is stored and checked, but nothing reads it in this version.";
  return [
    running ? (restartRequired.length === 0 ? "In force now." : waits) : `Not in force yet: ${why.replace(/\.$/, "")}. It is at its next start.`,
    ...failed.map(({ plugin, reason }) => `Plugin ${plugin} could not follow: ${reason}`),
  ].join("\n");
}
