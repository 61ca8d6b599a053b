import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fail } from "../base/errors.ts";
import { createLog } from "../base/log.ts";
import type { KernelParts } from "../core/boot/kernel-parts.ts";
import type { PluginStatus } from "../core/boot/kernel-port.ts";
import { buildRuntime } from "../core/boot/runtime.ts";
import { stateStore } from "../core/boot/state-store.ts";
import { createBus } from "../core/bus/index.ts";
import { readText } from "../core/config/document.ts";
import { type ConfigProblem, loadEnvironment } from "../core/config/index.ts";
import { type AgentAbilities, abilitiesOf } from "../core/host/agent-abilities.ts";
import { readAgents } from "../core/host/agents.ts";
import { authoritiesOf, routesOf } from "../core/host/live.ts";
import { type EditorOptions, problemsOf, readEdited } from "./editor.ts";

/** What a start would find, up to the point where it would open a port or connect to anything. */
export interface Rehearsal {
  readonly problems: readonly ConfigProblem[];
  readonly plugins: readonly PluginStatus[];
  readonly value: Readonly<Record<string, unknown>>;
  /** Each agent's engine, by the word of its tier. */
  readonly engines: readonly (Pick<AgentAbilities, "tier" | "engine"> & { readonly agent: string })[];
}

/**
 * Read, check and set up as a start does, in memory: no port is opened, no plugin is started, nothing is written to the data folder.
 * Engines are asked whether they are usable. Throws `SVC_CONFIG_*` for a text that is no JSON.
 */
export async function rehearse(options: EditorOptions & { readonly parts: KernelParts }): Promise<Rehearsal> {
  const { configuration, host } = await readEdited(options, readText(options.file));
  const folder = dirname(resolve(options.file));
  const scratch = join(tmpdir(), `svc-${randomUUID()}`);
  const log = createLog({ destination: "none", secrets: () => [] });
  const agents = readAgents(configuration.value, folder, configuration.unusable);
  const node = (configuration.value.node ?? {}) as { id?: string; name?: string };
  const bus = createBus({ node: node.id ?? "doctor", ringSize: 1, onListenerError: () => {} });
  const { parts } = options;
  const serving = (await parts.http()).open({
    kernel: () => {
      throw fail("SVC_KERNEL_STOPPED");
    },
    listen: false,
    config: () => configuration.value,
    folder: scratch,
    instance: () => undefined,
    routes: () => routesOf(host.live),
    authorities: () => authoritiesOf(host.live),
    log,
  });
  const { openStore } = await parts.store();
  const store = stateStore(openStore({ file: ":memory:" }));
  const runtime = buildRuntime(
    {
      node: { id: node.id ?? "doctor", name: node.name ?? "doctor" },
      env: loadEnvironment(folder, options.env),
      dataFolder: scratch,
      folder,
      bus,
      log,
      host,
      now: Date.now,
      libraries: parts.capabilities,
      provideServer: serving.provide,
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
    await runtime.lender.ensure(host.declared());
    await host.setUp(configuration.wanted, runtime.services);
    const engines = await Promise.all(
      agents.list().map(async ({ id }) => {
        const { tier, engine } = await abilitiesOf(id, agents, host.live);
        return { agent: id, tier, engine };
      }),
    );
    const problems = problemsOf(configuration, host, options.dataFolder);
    return { problems, plugins: host.statuses(), value: configuration.value, engines };
  } finally {
    await host.stop();
    runtime.schedule.stop();
    await runtime.lender.close();
    await store.close();
    await rm(scratch, { recursive: true, force: true });
  }
}
