import { definePlugin, type ObjectSchema } from "@svc/sdk";
import type { SharedSettings } from "./shared-settings.ts";

const LOOK_MS = 1_000;

/** `sharedConfig`. */
interface Config {
  readonly enabled: boolean;
  readonly local: readonly string[];
}

const SECTION: ObjectSchema = {
  type: "object",
  description: "one svc.json for all daemons on one database",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch; each daemon that takes part has it" },
    local: {
      type: "array",
      default: [],
      items: { type: "string", minLength: 1 },
      description: "settings that stay on each machine, such as agents.foo.workspace; node and store always do",
    },
  },
};

/**
 * The settings of svc.json as one document with a version in the store: what one daemon reads anew, the others write into their svc.json and
 * take in, within about a second. A daemon that cannot stays with what it has, and says so in `/health`.
 */
export default definePlugin<Config>({
  kind: "feature",
  name: "shared-config",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "sharedConfig", schema: SECTION },
  capabilities: ["all-settings", "events", "files", "jobs", "services", "settings", "store"],
  setup(ctx) {
    let { local } = ctx.config;
    let settings: SharedSettings | undefined;
    const alone = ctx.store.shared !== true;
    ctx.provide.service("shared-config.health", {
      problems: () =>
        alone ? ["sharedConfig has no effect: one daemon alone uses this store; PostgreSQL is one that several can use"] : (settings?.problems() ?? []),
    });
    return {
      async start() {
        if (alone) return;
        const { shareSettings } = await import("./shared-settings.ts");
        const shared = shareSettings(ctx, () => local);
        settings = shared;
        ctx.events.subscribe(({ node, kind, data }) => {
          // The daemon says so when it has read svc.json anew.
          if (node === ctx.node.id && kind === "status" && Array.isArray((data as { changed?: unknown } | undefined)?.changed)) shared.reread();
        });
        ctx.jobs.every(LOOK_MS, shared.look);
      },
      async reload(config) {
        local = config.local;
        settings?.reread();
      },
    };
  },
});
