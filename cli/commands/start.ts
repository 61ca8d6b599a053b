import { existsSync } from "node:fs";
import { requireRestored } from "../backup/half-restored.ts";
import { DEFAULT_BIND } from "../cli.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "start",
  summary: "Write svc.json if there is none, then run the daemon here",
  commands: [
    {
      name: "start",
      args: "",
      summary: "Write svc.json if there is none, then run the daemon here; Ctrl-C ends it",
      async run(_args, _options, cli) {
        requireRestored(cli);
        if (!existsSync(cli.file)) {
          const { writeFirst } = await import("./init.js");
          // The engine that works on every machine: a first run must not depend on a sign-in elsewhere.
          const bind = await writeFirst(cli, "local");
          cli.say(`Wrote ${cli.file} with the agent "assistant".${bind === DEFAULT_BIND ? "" : ` The default port is in use; it listens on ${bind}.`}`);
        }
        const { daemonCode } = await import("../daemon/daemon-code.js");
        await daemonCode().runDaemon(cli, { lastGood: false, watchdog: true });
      },
    },
  ],
};

export default group;
