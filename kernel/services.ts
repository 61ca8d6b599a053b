import type { Agents, Capability, Files, GuardedFetch, Models, Render, Spawn } from "@svc/sdk";
import type { Services } from "./host/context.ts";
import type { Scope } from "./host/scope.ts";
import type { RootLog } from "./log.ts";
import type { Schedule } from "./schedule/index.ts";
import type { KernelStore } from "./store/index.ts";

/** What lends capabilities to plugins is made of. */
export interface ServiceGround extends Pick<Services, "node" | "env" | "bus" | "tasks" | "traces" | "actions" | "claim" | "channelState" | "failed"> {
  readonly agents: () => Agents;
  readonly store: KernelStore;
  readonly schedule: Schedule;
  readonly log: RootLog;
  readonly dataFolder: string;
  readonly folder: string;
  /** Marks the children of this data folder's daemon. */
  readonly marker: string;
}

/** The heavy ones are imported only when some plugin declares them. */
export interface LentCapabilities {
  readonly fetch?: () => GuardedFetch;
  readonly files?: (own: string) => Files;
  readonly spawn?: (scope: Scope) => Spawn;
  readonly models?: () => Models;
  readonly render?: () => Render;
}

/** Imports what is needed and no more. */
export async function importCapabilities(needed: ReadonlySet<Capability>, ground: ServiceGround): Promise<LentCapabilities> {
  const lent: { -readonly [key in keyof LentCapabilities]: LentCapabilities[key] } = {};
  const jobs: Promise<void>[] = [];
  const take = (capability: Capability, load: () => Promise<void>) => {
    if (needed.has(capability)) jobs.push(load());
  };
  take("fetch", async () => {
    const { createFetch } = await import("./capabilities/fetch.ts");
    const made = createFetch({});
    lent.fetch = () => made;
  });
  take("files", async () => {
    const { createFiles } = await import("./capabilities/files.ts");
    lent.files = (own) => createFiles({ own });
  });
  take("spawn", async () => {
    const { createSpawn } = await import("./capabilities/spawn.ts");
    lent.spawn = (scope) => createSpawn({ marker: ground.marker, log: ground.log.child(scope.id), baseEnv: ground.env });
  });
  take("models", async () => {
    const { createModels } = await import("./capabilities/models.ts");
    lent.models = () => createModels({ env: ground.env });
  });
  take("render", async () => {
    const { createRender } = await import("./capabilities/render.ts");
    lent.render = () => createRender();
  });
  await Promise.all(jobs);
  return lent;
}
