import { dirname, resolve } from "node:path";
import type { ObjectSchema, SettingEdit } from "@svc/sdk";
import { formatPath, parsePath } from "../base/config-path.ts";
import { loadEnvironment } from "../base/config-text/environment.ts";
import { fail } from "../base/errors.ts";
import { lastGood } from "../base/last-good.ts";
import type { PluginStatus } from "../core/boot/kernel-api.ts";
import type { ConfigProblem } from "../core/config/check.ts";
import { composeSchema } from "../core/config/compose.ts";
import { type Configuration, describeProblems, entriesOf, examine, partsOf } from "../core/config/configuration.ts";
import { openDocument, readText } from "../core/config/document.ts";
import type { Host, HostParts } from "../core/host/host.ts";
import { createHost } from "../core/host/plugin-host.ts";
import { readEntry } from "../sources/source.ts";
import { applyEdits } from "./apply-edits.ts";
import { getValue, removeValue, requireSetting, setValue } from "./edit.ts";
import { exposures } from "./exposure.ts";
import { inTurn } from "./file-turn.ts";
import { differenceFrom } from "./line-difference.ts";
import { maskSecrets } from "./mask.ts";
import { revisionOf } from "./revision.ts";
import { saveDocument } from "./save.ts";
import { defaultAt, isUnread } from "./setting-schema.ts";

/** The path of a configuration file, and the options to load its plugins. */
export interface EditorDeps {
  /** The rooms that importing plugins needs. */
  readonly parts: HostParts;
  readonly file: string;
  readonly dataFolder: string;
  readonly known: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly searchFolders?: readonly string[];
}

/** Reads and changes svc.json in place: formatting, order and `${NAME}` references stay (CFG-05, CFG-06). */
export interface Editor {
  /** The text as it was opened. */
  readonly original: string;
  /** As `ctx.settings.read()` answers it to a plugin that sees everything: of the text as it was opened, or written. */
  readonly revision: string;
  /** As `ctx.settings.read()` answers it to such a plugin: as written, `${NAME}` in place, credentials as `***`. */
  document(): Readonly<Record<string, unknown>>;
  /** The effective value, defaults included; credentials masked unless `reveal`. */
  get(path: string, reveal?: boolean): unknown;
  show(reveal?: boolean): unknown;
  /** Change one value in the text; nothing is written yet. Throws `SVC_CONFIG_PATH`, `SVC_CONFIG_VALUE`. */
  set(path: string, value: string): void;
  /** Make edits in the text as `ctx.settings.change` does; answers their paths. Nothing is written yet. */
  apply(edits: readonly SettingEdit[]): readonly string[];
  /** Returns false if the path did not exist. */
  remove(path: string): boolean;
  /** Whether this version ignores the setting. */
  isUnread(path: string): boolean;
  /** Throws `SVC_CONFIG_PATH` for a path that no setting has. */
  requireSetting(path: string): void;
  /** Check the changed text and write it. Throws `SVC_CONFIG_INVALID`; then the file is as it was. `backup` leaves a copy of the old one. */
  save(options?: { readonly backup?: boolean }): Promise<void>;
  /** Restores an earlier text if the file still has the last saved content. Throws `SVC_CONFIG_CHANGED`. */
  restore(text: string): Promise<void>;
}

/** Opens a configuration for changes. Nothing is written before `save`; throws `SVC_CONFIG_*` where the document cannot be read. */
export async function openEditor(options: EditorDeps): Promise<Editor> {
  return (await open(options)).editor;
}

/** Number of retries of a change on a text that was saved by another editor meanwhile. */
const TRIES = 10;

/**
 * Changes a configuration under the file's lock: opens its current content, lets `edit` make the changes, validates the text and writes it. Retried
 * from the start if an editor outside of svc saves the file meanwhile. Resolves with the editor, and whether anything was written. Throws the errors
 * of `edit` and of `Editor.save`.
 */
export function editFile(
  options: EditorDeps,
  edit: (editor: Editor) => void | Promise<void>,
  { backup = false }: { readonly backup?: boolean } = {},
): Promise<Written & { readonly editor: Editor }> {
  return inTurn(options.file, async () => {
    for (let tries = 1; ; tries += 1) {
      const { editor, write } = await open(options);
      await edit(editor);
      try {
        return { editor, ...(await write(backup)) };
      } catch (error) {
        if ((error as { code?: string }).code !== "SVC_CONFIG_CHANGED" || tries === TRIES) throw error;
      }
    }
  });
}

/** Result of writing a text. */
export interface Written {
  /** False where there was nothing to write. */
  readonly saved: boolean;
  /** Path of the copy of the previous text, if one was requested. */
  readonly backup?: string;
}

async function open(options: EditorDeps): Promise<{ readonly editor: Editor; write(backup: boolean): Promise<Written> }> {
  const { file } = options;
  const original = readText(file);
  const opened = await readEdited(options, original);
  let { configuration } = opened;
  let text = original;
  let written = original;
  async function write(backup: boolean): Promise<Written> {
    if (text === original) return { saved: false };
    const changed = await readEdited(options, text);
    const problems = freshErrors(opened, changed);
    if (problems.length > 0) throw refusedChange(file, problems);
    const copy = await saveDocument(file, text, { expect: original, backup });
    configuration = changed.configuration;
    written = text;
    return { saved: true, ...copy };
  }
  const editor: Editor = {
    original,
    document: () => maskSecrets(configuration.document.raw, configuration.composed, { references: true }),
    get(path, reveal = false) {
      const value = reveal ? configuration.value : maskSecrets(configuration.value, configuration.composed);
      return getValue(value, path) ?? defaultAt(configuration.composed.root, parsePath(path));
    },
    show: (reveal = false) => (reveal ? configuration.value : maskSecrets(configuration.value, configuration.composed)),
    set(path, value) {
      text = setValue(text, path, value, configuration.composed).text;
    },
    remove(path) {
      const edit = removeValue(text, path);
      text = edit.text;
      return edit.before !== undefined;
    },
    get revision() {
      return revisionOf(written);
    },
    apply(edits) {
      const { text: next, paths } = applyEdits(text, edits, { requirePath: () => {}, requireReference: () => {} });
      text = next;
      return paths.map(formatPath);
    },
    isUnread: (path) => isUnread(configuration.composed.root, parsePath(path)),
    requireSetting: (path) => void requireSetting(path, parsePath(path), configuration.composed),
    save: async ({ backup = false } = {}) => {
      await inTurn(file, () => write(backup));
    },
    restore: async (earlier) => {
      await inTurn(file, () => saveDocument(file, earlier, { expect: text }));
    },
  };
  return { editor, write };
}

/** Returns the errors of a changed text that the previous text did not have: existing errors do not block a change. */
export function freshErrors(before: Edited, after: Edited): readonly ConfigProblem[] {
  const known = new Set(errorsOf(before).map(describe));
  return errorsOf(after).filter((problem) => !known.has(describe(problem)));
}

const errorsOf = ({ configuration, host }: Edited) =>
  [...configuration.checked.problems, ...storeProblems(configuration, host)].filter(({ severity }) => severity === "error");
const describe = ({ path, message }: ConfigProblem) => `${path} ${message}`;

/** The error of a change that would make a configuration worse. */
export const refusedChange = (file: string, problems: readonly ConfigProblem[]): Error =>
  fail("SVC_CONFIG_INVALID", { file, reason: `${describeProblems(problems)}\nNothing was changed.`, problems });

/**
 * Performs all checks of `svc config check`: the document, and each plugin's manifest, code and schema. Opens nothing. Throws `SVC_CONFIG_*` for a
 * text that is not JSON.
 */
export async function checkConfiguration(
  options: EditorDeps,
): Promise<{ readonly problems: readonly ConfigProblem[]; readonly plugins: readonly PluginStatus[]; readonly value: Readonly<Record<string, unknown>> }> {
  const { configuration, host } = await readEdited(options, readText(options.file));
  return { problems: problemsOf(configuration, host, options.dataFolder), plugins: host.statuses(), value: configuration.value };
}

/** Returns all problems for a person: in the document, in the entries of `plugins`, and in the permissions of files. */
export const problemsOf = (configuration: Configuration, host: Host, dataFolder: string): readonly ConfigProblem[] => [
  ...configuration.checked.problems,
  ...entryProblems(configuration, host),
  ...storeProblems(configuration, host),
  ...exposures(configuration, dataFolder),
];

/** Entries of `plugins` that lead to no plugin, with their position; one that switches off an absent plugin is only a warning. */
const entryProblems = ({ document }: Configuration, host: Host): ConfigProblem[] =>
  host.troubles(entriesOf(document)).map(({ at, entry, reason }) => ({
    path: `plugins.${at}`,
    ...document.locate(["plugins", at]),
    message: reason,
    ...(entry.startsWith("!") ? { severity: "warning" } : { severity: "error", owner: readEntry(entry).name }),
  }));

/** Without one plugin that keeps the state nothing starts. */
function storeProblems({ document, wanted }: Configuration, host: Host): ConfigProblem[] {
  const message = host.storeProblem(wanted);
  return message === undefined ? [] : [{ path: "plugins", ...document.locate(["plugins"]), message, severity: "error" }];
}

/** The text of the last configuration that started, and how it differs from the file. Throws `SVC_CONFIG_NO_LAST_GOOD`. */
export async function compareLastGood(dataFolder: string, file: string): Promise<{ readonly text: string; readonly difference: string }> {
  const text = await lastGood(dataFolder);
  if (text === undefined) throw fail("SVC_CONFIG_NO_LAST_GOOD", { folder: dataFolder });
  return { text, difference: differenceFrom(text, readText(file)) };
}

/**
 * Returns the schema of every setting that this installation knows: of the kernel, of all first-party plugins and of the plugins in `plugins`,
 * enabled or not. Opens nothing; a configuration that is missing or cannot be read counts as empty.
 */
export async function configurationSchema(options: EditorDeps): Promise<ObjectSchema> {
  const { host } = await readEdited(options, readableText(options));
  await host.load({ section: () => ({ enabled: true }), tiers: new Set(host.tierNames()), hasAgentKey: () => true, broken: new Map() });
  return composeSchema(partsOf(host)).root;
}

/** The text of the configuration; `{}` for an absent or unreadable one. */
export function readableText(options: EditorDeps): string {
  try {
    const text = readText(options.file);
    openDocument({ file: options.file, text }, options.env);
    return text;
  } catch {
    return "{}";
  }
}

/** A text of svc.json, read. */
export interface Edited {
  readonly configuration: Configuration;
  readonly host: Host;
}

/** Parses the text, with the plugins it names imported and not set up; `storesOnly`: imports only those that can be the store. */
export async function readEdited(
  { parts, file, dataFolder, known, env, searchFolders = [] }: EditorDeps,
  text: string,
  { storesOnly = false }: { readonly storesOnly?: boolean } = {},
): Promise<Edited> {
  const folder = dirname(resolve(file));
  const document = openDocument({ file, text }, loadEnvironment(folder, env));
  const entries = entriesOf(document);
  const host = createHost({
    parts,
    known,
    entries,
    inline: [],
    storesOnly,
    folder,
    searchFolders: [dataFolder, ...searchFolders],
    dataFolder,
    quarantine: "read",
    env: loadEnvironment(folder, env),
  });
  return { configuration: await examine(document, host), host };
}
