import type { Editor, Kernel } from "@svc/kernel";
import type { SettingEdit, SettingsReport } from "@svc/sdk";
import { firstParty } from "./catalog.ts";
import type { Cli } from "./cli.ts";
import { coded, fail } from "./errors.ts";
import { NO_DAEMON } from "./exit.ts";
import { offlineCode } from "./kernel-code.ts";

/** The daemon's handling of a change. */
export interface Verdict {
  /** The daemon of this folder runs and has taken the file. */
  readonly running: boolean;
  /** The whole change is in force. */
  readonly applied: boolean;
  /** Whether a part of the change is in effect while the rest waits for a restart. */
  readonly partly?: boolean;
  /** This version ignores the setting. */
  readonly unread?: boolean;
  /** Changed paths, those that wait included. */
  readonly changed?: readonly string[];
  /** Changed paths that wait for a restart. */
  readonly restartRequired: readonly string[];
  /** Why it is not in force yet, when it is not. */
  readonly reloadSkipped?: string;
  readonly failed?: readonly { readonly plugin: string; readonly reason: string }[];
}

/** The answer of `POST /reload`. */
export type ReloadReport = Awaited<ReturnType<Kernel["reload"]>>;

/** The svc.json, and the access to the daemon that reads it. */
type Place = Pick<Cli, "file" | "dataFolder" | "request">;

const optionsOf = (cli: Pick<Place, "file" | "dataFolder">) => ({
  file: cli.file,
  dataFolder: cli.dataFolder,
  known: firstParty().map(({ folder }) => folder),
  env: process.env,
});

/** Open svc.json for reading. */
export async function openFile(cli: Pick<Place, "file" | "dataFolder">): Promise<Editor> {
  const { openEditor } = offlineCode();
  return openEditor(optionsOf(cli));
}

/** A change that the checks allowed. */
export interface Changed {
  /** Path of the copy of the previous text, if one was requested. */
  readonly backup?: string;
  /** Editor with the written text. */
  readonly editor: Editor;
  /** False where the edits left the text as it was. */
  readonly saved: boolean;
}

/**
 * Changes svc.json under its lock: one change after the other, those of the daemon and its plugins included. `edit` gets the current text, and is
 * called again if another editor saves the file meanwhile. The change takes effect with `putInForce`.
 */
export async function changeFile(cli: Place, edit: (editor: Editor) => void | Promise<void>, options: { readonly backup?: boolean } = {}): Promise<Changed> {
  const { editFile } = offlineCode();
  return editFile(optionsOf(cli), edit, options);
}

/**
 * Has the daemon apply a change. If the daemon refuses it, the change is rolled back, so that the file never holds a setting that a running daemon
 * refused. A stopped daemon is not a failure: the file is written.
 */
export async function putInForce(cli: Place, { editor, saved }: Changed): Promise<Verdict> {
  try {
    const report = (await cli.request("POST", "/reload")) as Pick<Verdict, "restartRequired" | "failed"> & {
      readonly changed: readonly string[];
    };
    const { changed, restartRequired, failed = [] } = report;
    return { running: true, changed, applied: restartRequired.length === 0, partly: changed.length > restartRequired.length, restartRequired, failed };
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    if (NO_DAEMON.has(code)) {
      const why = code === "SVC_CLI_NO_DAEMON" ? "the daemon is not running" : message;
      return { running: false, applied: false, restartRequired: [], reloadSkipped: `ECONNREFUSED: ${why}` };
    }
    const refused = "the daemon refused the change";
    if (!saved) throw fail("SVC_CLI_TASK_FAILED", { reason: `${refused}: ${message}` });
    try {
      await editor.restore(editor.original);
    } catch {
      throw fail("SVC_CLI_TASK_FAILED", { reason: `${refused}, and ${cli.file} was changed by someone else meanwhile, so it stands there: ${message}` });
    }
    throw fail("SVC_CLI_TASK_FAILED", { reason: `${refused}, and it was taken back: ${message}` });
  }
}

/** Changes one path of svc.json and waits for the result. Throws `SVC_CLI_CHANGED` if another writer changes the same path in between. */
export async function changePath(cli: Cli, path: string, edit: (editor: Editor) => void): Promise<Verdict> {
  let seen: string | undefined;
  const changed = await changeFile(cli, (editor) => {
    const value = JSON.stringify(editor.get(path, true)) ?? "";
    if (seen !== undefined && value !== seen) throw fail("SVC_CLI_CHANGED", { file: cli.file, path });
    seen = value;
    edit(editor);
  });
  const verdict = await putInForce(cli, changed);
  return changed.editor.isUnread(path) ? { ...verdict, applied: false, unread: true } : verdict;
}

/** `CliHost.change`: as `ctx.settings.change` with all rights, which the person at the terminal has. */
export async function changeSettings(
  cli: Place,
  edits: readonly SettingEdit[],
  { expect, backup = false }: { readonly expect?: string; readonly backup?: boolean } = {},
): Promise<SettingsReport> {
  let paths: readonly string[] = [];
  const edit = (editor: Editor) => {
    if (expect !== undefined && expect !== editor.revision)
      throw coded("SVC_CONFIG_CHANGED", `${cli.file} was changed by someone else meanwhile and was not saved; look at it and repeat.`);
    paths = editor.apply(edits);
  };
  const changed = await changeFile(cli, edit, { backup });
  const facts = { revision: changed.editor.revision, ...(changed.backup === undefined ? {} : { backup: changed.backup }) };
  if (!changed.saved) return { ...facts, reloaded: [] };
  const { running, reloadSkipped, restartRequired, failed = [], changed: all = paths } = await putInForce(cli, changed);
  if (!running) return { ...facts, reloadSkipped: reloadSkipped ?? "" };
  return { ...facts, reloaded: all.filter((path) => !restartRequired.includes(path)), restartRequired, ...(failed.length === 0 ? {} : { failed }) };
}

/** Describes the result of a reload without a change by this command. */
export function describeReload({ changed, restartRequired, failed }: ReloadReport): string {
  const verdict = { running: true, applied: restartRequired.length === 0, partly: changed.length > restartRequired.length, restartRequired, failed };
  return changed.length === 0 && failed.length === 0
    ? "Nothing has changed."
    : [...changed.map((path) => `changed: ${path}`), describeVerdict(verdict)].join("\n");
}

/** The verdict for people: one of "in force", "waits for a restart" and "not in force yet". */
export function describeVerdict({ running, partly, unread, restartRequired, reloadSkipped = "", failed = [] }: Verdict): string {
  const why = reloadSkipped.replace(/^ECONNREFUSED: /, "");
  const waits = `${partly ? "In force but for what waits" : "Waits"} for a restart (svc daemon restart): ${restartRequired.join(", ")}`;
  if (unread) return "It is stored and checked, but nothing reads it in this version.";
  return [
    running ? (restartRequired.length === 0 ? "In force now." : waits) : `Not in force yet: ${why.replace(/\.$/, "")}. It takes effect at its next start.`,
    ...failed.map(({ plugin, reason }) => `Plugin ${plugin} could not follow: ${reason}`),
  ].join("\n");
}
