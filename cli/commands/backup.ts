import { readFileSync } from "node:fs";
import type { OwnGroup } from "../group.ts";
import { quantity } from "../quantity.ts";

const group: OwnGroup = {
  name: "backup",
  summary: "Copy state, configuration and .env into a folder, while the daemon runs",
  commands: [
    {
      name: "backup",
      args: "[folder]",
      summary: "Copy state, configuration and .env into a new folder, while the daemon runs or not; agents' workspaces are not part of it",
      async run([folder], _options, cli) {
        const { takeBackup } = await import("../backup/take-backup.js");
        const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
        const taken = await takeBackup(cli, folder, version);
        const size = `${quantity(taken.files, "file")}, ${(taken.bytes / 1_048_576).toFixed(1)} MB`;
        const missing =
          taken.stateIn === undefined ? "" : `\nThe state is not in it: the store ${taken.stateIn} keeps it on a server, whose own tools back it up.`;
        cli.print(`The backup is in ${taken.folder} (${size}). It holds credentials: keep it as safe as the daemon.${missing}`, taken);
      },
    },
  ],
};

export default group;
