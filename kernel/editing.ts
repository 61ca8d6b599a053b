/* The editor as programs use it: with the rooms that importing plugins needs. */

import { PARTS } from "./create-kernel.ts";
import * as editor from "./editor/editor.ts";
import * as settings from "./editor/file-settings.ts";
import * as stores from "./editor/find-store.ts";
import * as rehearsal from "./editor/rehearse.ts";

/** A configuration file and what its plugins are. */
export type EditorOptions = Omit<editor.EditorDeps, "parts">;

/** Opens svc.json for reading and changing. Throws `SVC_CONFIG_*` for a text that is no JSON. */
export const openEditor = (options: EditorOptions) => editor.openEditor({ ...options, parts: PARTS });
/** Changes svc.json in its turn: one after the other, also with other processes. Throws `SVC_CONFIG_*`. */
export const editFile = (options: EditorOptions, edit: Parameters<typeof editor.editFile>[1], how: Parameters<typeof editor.editFile>[2] = {}) =>
  editor.editFile({ ...options, parts: PARTS }, edit, how);
/** Everything that `svc config check` looks at. Opens nothing. Throws `SVC_CONFIG_*` for a text that is no JSON. */
export const checkConfiguration = (options: EditorOptions) => editor.checkConfiguration({ ...options, parts: PARTS });
/** The schema of every setting that this installation knows. Opens nothing. */
export const configurationSchema = (options: EditorOptions) => editor.configurationSchema({ ...options, parts: PARTS });
/** `ctx.settings` with `all-settings` for a program that is no daemon; `reload` has the daemon of the file take a change in. */
export const fileSettings = (options: EditorOptions, reload: Parameters<typeof settings.fileSettings>[1]) =>
  settings.fileSettings({ ...options, parts: PARTS }, reload);
/** Reads, checks and sets up as a start does, in memory, and asks the engines whether they are usable. */
export const rehearse = (options: EditorOptions) => rehearsal.rehearse({ ...options, parts: PARTS });
/** The store that a configuration asks for, for looking at the state and copying it. Opens nothing. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`. */
export const findStore = (options: EditorOptions) => stores.findStore({ ...options, parts: PARTS });
