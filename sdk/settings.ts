import type { Schema } from "./config.ts";
import type { Manifest } from "./plugin.ts";

/** Where a value of svc.json is, from the top: keys, places in lists, and `{ id }` for the entry of a list whose `id` is that. */
export type SettingPath = readonly (string | number | { readonly id: string })[];

/** One change of svc.json. */
export interface SettingEdit {
  readonly path: SettingPath;
  /** Absent: the setting is taken out. For `{ id }` at the end of a path that no entry has: the entry that is added to the list. */
  readonly value?: unknown;
  /**
   * The value contains `${NAME}` references that the daemon shall expand. Without it such a value is refused with `SVC_CONFIG_REFERENCE`, so that
   * text of strangers never reads the daemon's environment.
   */
  readonly reference?: true;
}

/** A credential in svc.json, without its value. */
export interface SecretSetting {
  /** `webhooks[0].secret`. */
  readonly path: string;
  /** False for an empty one. */
  readonly set: boolean;
  /** The environment variable that it names, where it is nothing but `${NAME}`. */
  readonly reference?: string;
}

/** One thing that is wrong with svc.json, as `svc config check` says it. */
export interface SettingsProblem {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  readonly severity: "error" | "warning";
}

/** The file svc.json, limited to what the plugin may see. */
export interface SettingsDocument {
  /** Raw content of the file, `${NAME}` unexpanded, without defaults; credentials are `***`, other plugins' sections omitted without `all-settings`. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Revision of the content that the plugin may see: it differs for each different content. */
  readonly revision: string;
  readonly secrets: readonly SecretSetting[];
  readonly problems: readonly SettingsProblem[];
  /** With `all-settings`: the raw text, line by line, credentials as `***`. */
  readonly text?: string;
}

/** A line of svc.json before or after a change, credentials as `***`. */
export interface DifferenceLine {
  /** A space for a line that stays. */
  readonly sign: "-" | "+" | " ";
  /** From 1, in the text after the change; of a line that is taken away, in the text before. */
  readonly number: number;
  readonly text: string;
}

/** Effect of a change. */
export interface SettingsPreview {
  /** Of the text that the edits were tried on. */
  readonly revision: string;
  /** Where each edit would be made. */
  readonly paths: readonly string[];
  /** All of the changed text, each with its place in it; `fresh` for an error that the edits bring: with one the change would be refused. */
  readonly problems: readonly (SettingsProblem & { readonly fresh?: true })[];
  /** Paths that would wait for a restart. */
  readonly restartRequired: readonly string[];
  /** With `all-settings`: the lines that differ, with two around them. */
  readonly difference: readonly DifferenceLine[];
}

/** A plugin as the daemon knows it now. */
export interface InstalledPlugin {
  readonly id: string;
  readonly version?: string;
  /** `known`: not used by the configuration. `disabled`: `"!<id>"` is in `plugins`. */
  readonly state: string;
  readonly reason?: string;
  readonly source: "first-party" | "package" | "path" | "inline";
  /** Milliseconds of its start. */
  readonly took?: { readonly load: number; readonly setup: number; readonly start: number };
  readonly provides: readonly string[];
  readonly hooks: readonly string[];
  readonly capabilities: readonly string[];
  readonly failures: number;
  /** The process of a plugin that runs in one of its own. */
  readonly isolation?: { readonly state: string; readonly pid?: number; readonly walls: readonly string[] };
  /** The folder of its package. */
  readonly folder?: string;
  /** Absent for a plugin that was passed in code, and for one whose manifest cannot be read. */
  readonly manifest?: Manifest;
  /** Its channels with their current state. */
  readonly channels: readonly { readonly name: string; readonly state: "connecting" | "ready" | "down"; readonly reason?: string }[];
}

/** A plugin of this program's release that is not installed here. It is installed on the command line alone. */
export interface OfferedPlugin {
  readonly kind: string;
  readonly name: string;
  readonly package: string;
  readonly product?: string;
  readonly section?: string;
  readonly summary: string;
  /** Of the package itself, without the libraries that it needs; absent where it is not known. */
  readonly bytes?: number;
  /** Why it is no part of the installation, where that is not its size. */
  readonly because?: string;
}

/** A credential that is to be kept in `.env` and named in svc.json. */
export interface KeptSecret {
  /** The variable. */
  readonly name: string;
  /** Path at which svc.json shall reference it: `webhooks[0].secret`. Absent: the file stays unchanged, for a following change. */
  readonly path?: string;
  /** Absent: the plain-text credential at the path is moved. */
  readonly value?: string;
}

/** Options of a change. */
export interface SettingsChange {
  /** The `revision` that the edits were made from: else `SVC_CONFIG_CHANGED`, and nothing is written. */
  readonly expect?: string;
  /** Leave the content before in `svc.json.bak.<timestamp>`. */
  readonly backup?: boolean;
  /** Author of the change, in a few words for the log and the event: a person, a surface, a rule. */
  readonly by: string;
}

/** Result of a change. Exactly one of `reloaded` and `reloadSkipped` is present. */
export interface SettingsReport {
  readonly revision: string;
  /** Changed paths that are in force. */
  readonly reloaded?: readonly string[];
  /** Changed paths that wait for a restart. */
  readonly restartRequired?: readonly string[];
  /** Why the change is in the file but not in force yet. */
  readonly reloadSkipped?: string;
  /** Plugins that could not follow, or cannot for another reason, as the reload found them. */
  readonly failed?: readonly { readonly plugin: string; readonly reason: string }[];
  /** Backup of the previous content, if requested. */
  readonly backup?: string;
}

/**
 * Capability `settings`: reads and changes svc.json in place. A plugin sees and changes its own section; with the permission
 * `all-settings`, which an isolated plugin cannot have, everything. Changes of the daemon, of plugins and of the command line are made
 * one after the other, also by other processes.
 */
export interface Settings {
  /** Throws `SVC_CONFIG_*` where the file cannot be read, `SVC_SETTINGS_NONE` for a kernel without one. */
  read(): Promise<SettingsDocument>;
  /** JSON schema of the settings that the plugin may see: of its section, or with `all-settings` of the whole file, switched-off plugins included. */
  schema(): Promise<Schema>;
  /**
   * Applies the edits in their order, all of them or none: checks the new text as `svc config check` does, writes it, and reloads the daemon. If the
   * file was saved by another writer meanwhile, it is read again. Throws `SVC_CONFIG_INVALID` for a new error in the text, `SVC_CONFIG_CHANGED`,
   * `SVC_CONFIG_REFERENCE`, `SVC_CONFIG_VALUE`, `SVC_CONFIG_PATH`, `SVC_CONFIG_UNWRITABLE`, `SVC_CONFIG_BUSY`, and `SVC_SETTINGS_SECTION` for an edit
   * outside of the plugin's section: the file is then unchanged. Called from `setup`, `start` or `reload` it does not wait for the reload:
   * `reloadSkipped` says so. Do not await it in `stop`.
   */
  change(edits: readonly SettingEdit[], options: SettingsChange): Promise<SettingsReport>;
  /** Returns the effect of these edits on the current file without writing. Throws as `change` does for invalid edits. */
  preview(edits: readonly SettingEdit[], options?: Pick<SettingsChange, "expect">): Promise<SettingsPreview>;
  /** With `all-settings`: every plugin that the daemon knows, running or not, in the order of their start. */
  plugins(): Promise<readonly InstalledPlugin[]>;
  /** With `all-settings`: what the program that runs the daemon could install beside them. Reads what came with it, and asks no registry. */
  offered(): Promise<readonly OfferedPlugin[]>;
  /** With `all-settings`: takes a plugin out of quarantine and loads it. Throws `SVC_SETTINGS_PLUGIN` for one that is not in it. */
  release(plugin: string): Promise<{ readonly loaded: boolean; readonly reason?: string }>;
  /**
   * With `all-settings`: stores a credential in `.env` beside svc.json and references it as `${NAME}` in svc.json. Throws `SVC_CONFIG_VARIABLE` for
   * an invalid name or value, and for a variable that the daemon's own environment sets.
   */
  keepSecret(secret: KeptSecret, options: SettingsChange): Promise<SettingsReport>;
}
