import { definePlugin } from "@svc/sdk";
import { checkServer } from "./check.ts";
import { IDENTITY } from "./identity.ts";
import { openPostgres } from "./open.ts";
import { STORE, type StoreSettings } from "./settings.ts";

/** The daemon's state in a schema of a PostgreSQL server. */
export default definePlugin<StoreSettings>({
  kind: "store",
  name: "postgres",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "store", schema: STORE },
  capabilities: ["network"],
  setup(ctx) {
    const { url, listenUrl, schema = "svc", poolSize = 8 } = ctx.config;
    const options = { url, schema, poolSize };
    ctx.provide.store({
      name: "postgres",
      files: [IDENTITY],
      open: ({ folder }) => openPostgres({ ...options, ...(listenUrl === undefined ? {} : { listenUrl }), folder, name: ctx.node.id, log: ctx.log }),
      status: async () => (await import("./status.js")).serverStatus(options),
      migrate: async ({ folder }) => (await import("./upgrade.js")).upgrade(options, folder),
      nodes: async () => (await import("./status.js")).serverNodes(options),
      drain: async ({ node, on }) => (await import("./status.js")).drainNode(options, node, on),
      check: ({ quick = false }) => checkServer(options, quick),
    });
  },
});
