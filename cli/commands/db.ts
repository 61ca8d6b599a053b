import { existsSync } from "node:fs";
import { join } from "node:path";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "db",
  summary: "The database in which state is kept",
  commands: [
    {
      name: "check",
      args: "",
      summary: "Is the database sound? Reads every page and changes nothing",
      async run(_args, _options, cli) {
        const file = join(cli.dataFolder, "svc.db");
        if (!existsSync(file)) throw fail("SVC_CLI_MISSING", { what: `database ${file} yet; the first start makes it`, next: "svc daemon start" });
        const { checkDatabase } = await import("@svc/kernel");
        const problems = checkDatabase(file);
        const sound = problems.length === 0;
        const advice = "Stop the daemon and put a copy of the file from before the damage in its place; keep the damaged one.";
        cli.print(sound ? `${file} is sound.` : [`${file} is damaged:`, ...problems.map((problem) => `  ${problem}`), advice].join("\n"), {
          file,
          sound,
          problems,
        });
        if (!sound) process.exitCode = EXIT.failed;
      },
    },
  ],
};

export default group;
