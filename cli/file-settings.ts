import { fileSettings as settingsOf } from "@svc/kernel";
import type { Settings } from "@svc/sdk";
import { firstParty } from "./catalog.ts";
import type { ReloadReport } from "./change.ts";
import type { Cli } from "./cli.ts";
import { NO_DAEMON } from "./exit.ts";
import { offeredPlugins } from "./plugin/offered.ts";

/** `CliHost.settings`: svc.json by the kernel's own editor; the daemon of the folder, where one runs, takes a change in. */
export function fileSettings({ file, dataFolder, request }: Pick<Cli, "file" | "dataFolder" | "request">): Settings {
  const known = firstParty().map(({ folder }) => folder);
  const reload = async () => {
    try {
      return (await request("POST", "/reload")) as ReloadReport;
    } catch (error) {
      const { code = "", message } = error as { code?: string; message: string };
      if (!NO_DAEMON.has(code)) throw error;
      throw new Error(`ECONNREFUSED: ${code === "SVC_CLI_NO_DAEMON" ? "the daemon is not running" : message}`);
    }
  };
  return settingsOf({ file, dataFolder, known, env: process.env }, reload, offeredPlugins);
}
