import { existsSync } from "node:fs";
import { join } from "node:path";
import { definePlugin } from "@svc/sdk";
import { checkDatabase } from "./database.ts";
import { driverProblem } from "./driver.ts";
import { openStore } from "./open.ts";

/** The database's name in the data folder. */
const FILE = "svc.db";

export default definePlugin({
  kind: "store",
  name: "sqlite",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.store({
      name: "sqlite",
      files: [FILE, `${FILE}-wal`, `${FILE}-shm`, "ballast"],
      open: ({ folder, now }) => openStore({ file: folder === undefined ? ":memory:" : join(folder, FILE), log: ctx.log, now }),
      async check({ folder, quick = false }) {
        const file = join(folder, FILE);
        if (!existsSync(file)) {
          const problem = driverProblem();
          return problem === undefined ? undefined : { file, problems: [problem] };
        }
        return { file, problems: checkDatabase(file, { quick }) };
      },
      status: async ({ folder }) => (await import("./status.js")).databaseStatus(join(folder, FILE)),
      migrate: async ({ folder }) => (await import("./status.js")).migrateDatabase(join(folder, FILE)),
      async backup({ folder, to }) {
        const file = join(folder, FILE);
        if (!existsSync(file)) return;
        const { backupDatabase } = await import("./backup.js");
        await backupDatabase(file, join(to, FILE));
      },
    });
  },
});
