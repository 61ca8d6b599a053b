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
   * The value holds `${NAME}` references that the daemon shall expand. Without it such a value is refused with `SVC_CONFIG_REFERENCE`, so
   * that words of strangers never read the daemon's environment.
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

/** svc.json as it stands in the file, as far as the plugin may see it. */
export interface SettingsDocument {
  /** From the top of the file, `${NAME}` as written, no defaults; credentials are `***`, other plugins' sections left out without `all-settings`. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Another one for each other content of what the plugin may see. */
  readonly revision: string;
  readonly secrets: readonly SecretSetting[];
  readonly problems: readonly SettingsProblem[];
  /** With `all-settings`: the text itself, line by line as it stands, credentials as `***`. */
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

/** What a change would do. */
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
  /** `known`: nothing asks for it. `disabled`: `"!<id>"` stands in `plugins`. */
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
  /** Absent for a plugin that was handed over in code, and for one whose manifest cannot be read. */
  readonly manifest?: Manifest;
  /** Its channels, as they stand now. */
  readonly channels: readonly { readonly name: string; readonly state: "connecting" | "ready" | "down"; readonly reason?: string }[];
}

/** A credential that is to be kept in `.env` and named in svc.json. */
export interface KeptSecret {
  /** The variable. */
  readonly name: string;
  /** Where svc.json names it from now on: `webhooks[0].secret`. Absent: the file stays as it is, for a change that comes next. */
  readonly path?: string;
  /** Absent: the credential that stands at the path as plain text is moved. */
  readonly value?: string;
}

/** How a change is made. */
export interface SettingsChange {
  /** The `revision` that the edits were made from: else `SVC_CONFIG_CHANGED`, and nothing is written. */
  readonly expect?: string;
  /** Leave the content before in `svc.json.bak.<timestamp>`. */
  readonly backup?: boolean;
  /** Who wants it, in a few words for the log and the event: a person, a surface, a rule. */
  readonly by: string;
}

/** What became of a change. Of `reloaded` and `reloadSkipped` there is exactly one. */
export interface SettingsReport {
  readonly revision: string;
  /** Changed paths that are in force. */
  readonly reloaded?: readonly string[];
  /** Changed paths that wait for a restart. */
  readonly restartRequired?: readonly string[];
  /** Why nothing of it is in force yet, though it is in the file. */
  readonly reloadSkipped?: string;
  /** Plugins that could not follow, or cannot for another reason, as the reload found them. */
  readonly failed?: readonly { readonly plugin: string; readonly reason: string }[];
  /** The copy of the content before, where one was asked for. */
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
  /** The JSON schema of what the plugin may see: of its section, or with `all-settings` of the whole file, switched-off plugins included. */
  schema(): Promise<Schema>;
  /**
   * Makes the edits in their order, all of them or none: checks the new text as `svc config check` does, writes it, and has the daemon take
   * it in. A text that somebody else has saved meanwhile is read again. Throws `SVC_CONFIG_INVALID` for a new error in the text,
   * `SVC_CONFIG_CHANGED`, `SVC_CONFIG_REFERENCE`, `SVC_CONFIG_VALUE`, `SVC_CONFIG_PATH`, `SVC_CONFIG_UNWRITABLE`, `SVC_CONFIG_BUSY`, and
   * `SVC_SETTINGS_SECTION` for what is not the plugin's: the file is then as it was. Called from `setup`, `start` or `reload` it does
   * not wait for the daemon to take it in: `reloadSkipped` says so. Do not wait for it in `stop`.
   */
  change(edits: readonly SettingEdit[], options: SettingsChange): Promise<SettingsReport>;
  /** What `change` would do with these edits, as the file is now: nothing is written. Throws what `change` throws for edits that cannot be made. */
  preview(edits: readonly SettingEdit[], options?: Pick<SettingsChange, "expect">): Promise<SettingsPreview>;
  /** With `all-settings`: every plugin that the daemon knows, running or not, in the order of their start. */
  plugins(): Promise<readonly InstalledPlugin[]>;
  /** With `all-settings`: takes a plugin out of quarantine and loads it. Throws `SVC_SETTINGS_PLUGIN` for one that is not in it. */
  release(plugin: string): Promise<{ readonly loaded: boolean; readonly reason?: string }>;
  /**
   * With `all-settings`: keeps a credential in `.env` beside svc.json and writes its name as `${NAME}` where svc.json has it. Throws
   * `SVC_CONFIG_VARIABLE` for a name or value that cannot stand there, and for a variable that the daemon's own environment sets.
   */
  keepSecret(secret: KeptSecret, options: SettingsChange): Promise<SettingsReport>;
}
