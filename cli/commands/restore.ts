import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "restore",
  summary: "Put a backup in the place of this folder's state and configuration",
  commands: [
    {
      name: "restore",
      args: "<folder>",
      summary: "Put a backup in the place of this folder's state, configuration and .env; what stood there is kept beside it",
      async run([folder], _options, cli) {
        const { restoreBackup } = await import("../backup/restore-backup.js");
        const restored = await restoreBackup(cli, folder as string);
        const kept = restored.kept.length === 0 ? "" : `\nWhat stood there is kept: ${restored.kept.join(", ")}`;
        cli.print(`The backup of ${restored.takenAt} is restored.${kept}\nNext: svc daemon start`, restored);
      },
    },
  ],
};

export default group;
