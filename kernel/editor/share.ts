import type { SettingsProblem } from "@svc/sdk";
import { type ConfigPath, formatPath, parsePath, valueAt } from "../base/config-path.ts";
import { referencesBelow } from "../base/config-text/expand.ts";
import { fail } from "../base/errors.ts";
import type { SettingsAsker, SettingsDeps } from "../core/boot/settings-port.ts";
import { type Configuration, examine } from "../core/config/configuration.ts";
import type { EditRights } from "./apply-edits.ts";
import { type Edited, problemsOf } from "./editor.ts";
import { revisionOf } from "./revision.ts";

/** Settings that a plugin may see and change: its section, or all. */
export interface Share {
  readonly all: boolean;
  /** Path of its section; undefined if it owns none. */
  readonly section: ConfigPath | undefined;
}

/** The share of a plugin. Throws `SVC_SETTINGS_SECTION` for one that may see nothing. */
export function shareOf({ host }: SettingsDeps, { id, declares }: SettingsAsker): Share {
  const section = host.sections().find(({ owner }) => owner === id)?.at;
  const share = { all: declares("all-settings"), section: section === undefined ? undefined : parsePath(section) };
  if (!share.all && share.section === undefined)
    throw fail("SVC_SETTINGS_SECTION", { plugin: id, path: "anything", reason: "it owns no section; declare 'all-settings' to see the whole file" });
  return share;
}

/** Whether a path is in the share. */
export const holds = ({ all, section = [] }: Share, path: ConfigPath): boolean =>
  all || (path.length >= section.length && section.every((key, index) => path[index] === key));

/** As much of a document as the share shows, from its top. */
export function shown(raw: Readonly<Record<string, unknown>>, { all, section = [] }: Share): Readonly<Record<string, unknown>> {
  if (all) return raw;
  const own = valueAt(raw, section);
  return own === undefined ? {} : (section.reduceRight<unknown>((inner, key) => ({ [key]: inner }), own) as Record<string, unknown>);
}

/** Returns the revision of the visible content: it differs for each different content. */
export const revisionFor = (raw: Readonly<Record<string, unknown>>, text: string, share: Share): string =>
  revisionOf(share.all ? text : JSON.stringify(shown(raw, share)));

/** The file that holds the configuration. Throws `SVC_SETTINGS_NONE` for a kernel without one. */
export function fileOf({ file }: SettingsDeps): string {
  if (file === undefined) throw fail("SVC_SETTINGS_NONE");
  return file;
}

/** A text as the kernel would read it now, with the plugins it has. Throws `SVC_CONFIG_*`. */
export async function examined({ open, host }: SettingsDeps, text: string): Promise<Edited> {
  return { configuration: await examine(open(text), host), host };
}

/** Returns the problems of a configuration that concern the plugin. */
export const problemsFor = (
  configuration: Configuration,
  { host, dataFolder }: SettingsDeps,
  { id }: SettingsAsker,
  share: Share,
): readonly SettingsProblem[] =>
  problemsOf(configuration, host, dataFolder)
    .filter(({ owner, path }) => share.all || owner === id || (path !== "" && holds(share, parsePath(path))))
    .map(({ path, line, column, message, severity }) => ({
      path,
      ...(line === undefined ? {} : { line }),
      ...(column === undefined ? {} : { column }),
      message,
      severity,
    }));

/** Returns the paths that edits of a plugin may touch, and the variables that they may reference. */
export function rightsOf({ id, declares }: SettingsAsker, share: Share): EditRights {
  const own = formatPath(share.section ?? []);
  return {
    requirePath(path) {
      if (holds(share, path)) return;
      const reason = `it owns ${own}, and has not declared 'all-settings'`;
      throw fail("SVC_SETTINGS_SECTION", { plugin: id, path: formatPath(path), reason });
    },
    // Its own section is expanded for it: with any reference it would read any credential of the daemon.
    requireReference(name, path, raw) {
      if (share.all || declares(`env:${name}`) || referencesBelow(valueAt(raw, share.section ?? [])).includes(name)) return;
      const reason = `plugin ${id} may only name what it declares as env:<NAME>, or what its section refers to already`;
      throw fail("SVC_CONFIG_REFERENCE", { path: formatPath(path), reference: `\${${name}}`, reason });
    },
  };
}
