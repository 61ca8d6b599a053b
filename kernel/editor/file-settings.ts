import { dirname } from "node:path";
import type { Settings } from "@svc/sdk";
import { loadEnvironment } from "../base/config-text/environment.ts";
import type { SettingsAsker, SettingsDeps } from "../core/boot/settings-port.ts";
import { openDocument } from "../core/config/document.ts";
import { type EditorDeps, readableText, readEdited } from "./editor.ts";
import { createSettings } from "./plugin-settings.ts";

/** The person at the machine: may see and change everything. */
const PERSON: SettingsAsker = { id: "svc", declares: () => true };

/**
 * Creates `ctx.settings` with `all-settings` for a program other than the daemon: the same reading, dry run, difference, copy and checks, with the
 * plugins that the file names imported and not set up. `reload` asks the daemon of the file to apply the change; if it rejects, its message is the
 * `reloadSkipped` of the change.
 */
export function fileSettings(options: EditorDeps, reload: SettingsDeps["reload"], offered?: SettingsDeps["offered"]): Settings {
  // Read anew each time: the file may name other plugins by now.
  const now = async (): Promise<Settings> => {
    const { host } = await readEdited(options, readableText(options));
    const { file, dataFolder, env } = options;
    const open = (text: string) => openDocument({ file, text }, loadEnvironment(dirname(file), env));
    return createSettings({ file, dataFolder, host, log: { info() {} }, bus: { publish() {} }, open, reload, offered })(PERSON);
  };
  return {
    read: async () => (await now()).read(),
    schema: async () => (await now()).schema(),
    change: async (...asked) => (await now()).change(...asked),
    preview: async (...asked) => (await now()).preview(...asked),
    plugins: async () => (await now()).plugins(),
    offered: async () => (await now()).offered(),
    release: async (...asked) => (await now()).release(...asked),
    keepSecret: async (...asked) => (await now()).keepSecret(...asked),
  };
}
