import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "upgrade",
  summary: "Put another release in the place of this one, tried on a copy first",
  commands: [
    {
      name: "upgrade",
      args: "[version]",
      summary: "Install a release beside this one (default: the newest), try it on a copy of the state, then switch and restart",
      options: [
        { flags: "--check", description: "try it only; nothing is changed" },
        { flags: "--rollback", description: "back to the release from before the last upgrade" },
      ],
      async run([version], options, cli) {
        const { rollBack, upgrade } = await import("../upgrade/put-release.js");
        if (options.rollback === true) await rollBack(cli);
        else await upgrade(cli, version, { check: options.check === true });
      },
    },
  ],
};

export default group;
