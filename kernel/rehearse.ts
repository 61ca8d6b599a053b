import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { readAgents } from "./agents.ts";
import { createBus } from "./bus/index.ts";
import { type AgentCapability, capabilityOf } from "./capability.ts";
import { readText } from "./config/document.ts";
import { type ConfigProblem, loadEnvironment } from "./config/index.ts";
import { type EditorOptions, problemsOf, readEdited } from "./editor.ts";
import { createLog } from "./log.ts";
import type { PluginStatus } from "./port.ts";
import { reachOf } from "./reach.ts";
import { buildRooms } from "./rooms.ts";
import { createServers } from "./servers.ts";
import { openStore } from "./store/index.ts";

/** What a start would find, up to the point where it would open a port or connect to anything. */
export interface Rehearsal {
  readonly problems: readonly ConfigProblem[];
  readonly plugins: readonly PluginStatus[];
  readonly value: Readonly<Record<string, unknown>>;
  /** Each agent's engine, by the word of its tier. */
  readonly engines: readonly (Pick<AgentCapability, "tier" | "engine"> & { readonly agent: string })[];
}

/**
 * Read, check and set up as a start does, in memory: no port is opened, no plugin is started, nothing is written to the data folder.
 * Engines are asked whether they are usable. Throws `SVC_CONFIG_*` for a text that is no JSON.
 */
export async function rehearse(options: EditorOptions): Promise<Rehearsal> {
  const { configuration, host } = await readEdited(options, readText(options.file));
  const folder = dirname(resolve(options.file));
  const scratch = join(tmpdir(), `svc-${randomUUID()}`);
  const log = createLog({ destination: "none", secrets: () => [] });
  const agents = readAgents(configuration.value, folder, configuration.unusable);
  const node = (configuration.value.node ?? {}) as { id?: string; name?: string };
  const bus = createBus({ node: node.id ?? "doctor", ringSize: 1, onListenerError: () => {} });
  const servers = createServers({
    listen: false,
    routes: () => host.live.routes,
    authorities: () => host.live.authorities,
    reach: reachOf(() => configuration.value, scratch),
    log,
  });
  const store = openStore({ file: ":memory:" });
  const rooms = buildRooms(
    {
      node: { id: node.id ?? "doctor", name: node.name ?? "doctor" },
      env: loadEnvironment(folder, options.env),
      dataFolder: scratch,
      folder,
      bus,
      log,
      host,
      now: Date.now,
      provideServer: servers.provide,
      // No server is there whose routes it could clash with.
      requireServable: () => {},
      health: () => ({ ok: false, state: "stopped", uptimeSeconds: 0, tasks: { running: 0, queued: 0 }, plugins: [] }),
      config: () => configuration.value,
      agents: () => agents,
    },
    store,
    undefined,
  );
  try {
    await rooms.lender.ensure(host.declared());
    await host.setUp(configuration.wanted, rooms.services);
    const engines = await Promise.all(
      agents.list().map(async ({ id }) => {
        const { tier, engine } = await capabilityOf(id, agents, host.live);
        return { agent: id, tier, engine };
      }),
    );
    const problems = problemsOf(configuration, host, options.dataFolder);
    return { problems, plugins: host.statuses(), value: configuration.value, engines };
  } finally {
    await host.stop();
    rooms.schedule.stop();
    await rooms.lender.close();
    await store.close();
    await rm(scratch, { recursive: true, force: true });
  }
}
