import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import type { OwnGroup } from "../group.ts";
import { quantity } from "../quantity.ts";

const group: OwnGroup = {
  name: "db",
  summary: "The database in which state is kept",
  commands: [
    {
      name: "check",
      args: "",
      summary: "Is the database sound? Reads every page and changes nothing",
      async run(_args, _options, cli) {
        const { storeFor } = await import("../store.js");
        const store = await storeFor(cli);
        if (store.check === undefined) throw fail("SVC_CLI_MISSING", { what: `check of the store ${store.name}`, next: "svc doctor" });
        const checked = await store.check({ folder: cli.dataFolder });
        if (checked === undefined)
          throw fail("SVC_CLI_MISSING", { what: `state in ${cli.dataFolder} yet; the first start makes it`, next: "svc daemon start" });
        const { file, problems } = checked;
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
    {
      name: "status",
      args: "",
      summary: "What the store is and holds: its schema, migrations that wait, rows, size, daemons, how it is reached",
      async run(_args, _options, cli) {
        const { statusOf, statusText } = await import("../state/store-status.js");
        const told = await statusOf(cli);
        cli.print(statusText(told), told);
        if (told.version !== null && told.version > told.known) process.exitCode = EXIT.storage;
      },
    },
    {
      name: "migrate",
      args: "",
      summary: "Bring the schema of the store to this program's version, forward only; no daemon may run",
      async run(_args, _options, cli) {
        const { migrateStore } = await import("../state/store-status.js");
        const { file, from, to, applied, ...rest } = await migrateStore(cli);
        const done = applied.length === 0 ? [`${file} has schema ${to} already.`] : [`${file} is brought from schema ${from} to ${to}:`, ...applied];
        cli.print(done.join("\n  "), { ...rest, file, from, to, applied });
      },
    },
    {
      name: "copy",
      args: "",
      summary: "Copy the state from another store into the one of this folder's configuration, which must be empty, and compare both",
      options: [{ flags: "--from <store>", description: "sqlite, or a configuration file that asks for the store to read", required: true }],
      async run(_args, { from }, cli) {
        const { copyState } = await import("../state/copy-state.js");
        const copied = await copyState(cli, from as string);
        cli.print(
          `${quantity(copied.records, "record is", "records are")} copied from ${copied.from} to ${copied.to}; both are the same.\nNext: svc daemon start`,
          copied,
        );
      },
    },
  ],
};

export default group;
