/* The editor as programs use it: with the rooms that importing plugins needs, and none of a running kernel. */

import * as editor from "./editor/editor.ts";
import * as settings from "./editor/file-settings.ts";
import * as stores from "./editor/find-store.ts";
import { hostParts } from "./host-parts.ts";

const PARTS = hostParts({});

/** The path of a configuration file, and the options to load its plugins. */
export type EditorOptions = Omit<editor.EditorDeps, "parts">;

type Rest<All extends readonly unknown[]> = All extends readonly [unknown, ...infer Others] ? Others : never;

/** Opens svc.json for reading and changing. Throws `SVC_CONFIG_*` for a text that is not JSON. */
export const openEditor = (options: EditorOptions) => editor.openEditor({ ...options, parts: PARTS });
/** Changes svc.json under a lock that other processes respect, too. Throws `SVC_CONFIG_*`. */
export const editFile = (options: EditorOptions, edit: Parameters<typeof editor.editFile>[1], how: Parameters<typeof editor.editFile>[2] = {}) =>
  editor.editFile({ ...options, parts: PARTS }, edit, how);
/** Performs all checks of `svc config check`. Opens nothing. Throws `SVC_CONFIG_*` for a text that is not JSON. */
export const checkConfiguration = (options: EditorOptions) => editor.checkConfiguration({ ...options, parts: PARTS });
/** The schema of every setting that this installation knows. Opens nothing. */
export const configurationSchema = (options: EditorOptions) => editor.configurationSchema({ ...options, parts: PARTS });
/** Creates `ctx.settings` with `all-settings` for a program other than the daemon; `reload` asks the daemon of the file to apply a change. */
export const fileSettings = (options: EditorOptions, ...how: Rest<Parameters<typeof settings.fileSettings>>) =>
  settings.fileSettings({ ...options, parts: PARTS }, ...how);
/** Returns the store that a configuration names, to inspect and copy its state. Opens nothing. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`. */
export const findStore = (options: EditorOptions) => stores.findStore({ ...options, parts: PARTS });
