import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail } from "../base/errors.ts";
import { build } from "../core/boot/assembly.ts";
import type { PluginStatus } from "../core/boot/kernel-api.ts";
import type { KernelParts } from "../core/boot/kernel-parts.ts";
import { locationsOf } from "../core/boot/locations.ts";
import { openState } from "../core/boot/open-state.ts";
import { buildRuntime } from "../core/boot/runtime.ts";
import type { AgentAbilities } from "../core/boot/status-port.ts";
import type { ConfigProblem } from "../core/config/check.ts";
import { readText } from "../core/config/document.ts";
import { authoritiesOf, routesOf } from "../core/host/live.ts";
import { type EditorDeps, problemsOf, readEdited } from "./editor.ts";

/** Findings of a start, up to the point where it would open a port or connect to anything. */
export interface Rehearsal {
  readonly problems: readonly ConfigProblem[];
  readonly plugins: readonly PluginStatus[];
  readonly value: Readonly<Record<string, unknown>>;
  /** Each agent's engine, by the word of its tier. */
  readonly engines: readonly (Pick<AgentAbilities, "tier" | "engine"> & { readonly agent: string })[];
}

/**
 * Read, check and set up as a start does, in memory: no port is opened, no plugin is started, nothing is written to the data folder. Engines are
 * probed. Throws `SVC_CONFIG_*` for a text that is not JSON.
 */
export async function rehearse(options: EditorDeps & { readonly parts: KernelParts }): Promise<Rehearsal> {
  const { configuration, host } = await readEdited(options, readText(options.file));
  const { parts, file: config, env, dataFolder } = options;
  const scratch = join(tmpdir(), `svc-${randomUUID()}`);
  const locations = { ...locationsOf({ config, env }), dataFolder: scratch, stateFolder: scratch, onDisk: false };
  const assembly = await build({ parts, locations, host, configuration, log: undefined, now: Date.now });
  const { settings, status } = assembly;
  const { provide } = (await parts.http()).open({
    kernel: undefined,
    listen: false,
    config: () => settings.value,
    folder: scratch,
    instance: () => undefined,
    routes: () => routesOf(host.live),
    authorities: () => authoritiesOf(host.live),
    scopes: host.tokenScopes,
    log: assembly.log,
  });
  const store = await openState(assembly);
  const runtime = buildRuntime({
    assembly,
    store,
    // There is no server of the kernel, so no conflict of its routes with a plugin's.
    http: { address: undefined, provide, requireServable: () => {}, serveFile: async () => {} },
    reload: () => Promise.reject(fail("SVC_KERNEL_STOPPED")),
    health: () => ({ ok: false, state: "stopped", uptimeSeconds: 0, tasks: { running: 0, queued: 0 }, plugins: [] }),
  });
  try {
    await runtime.capabilities.ensure(host.declared());
    await host.setUp(configuration.wanted, runtime.contexts);
    const engines = await Promise.all(
      settings.agents.list().map(async ({ id }) => {
        const { tier, engine } = await status.abilitiesOf(id, settings.agents, host.live);
        return { agent: id, tier, engine };
      }),
    );
    const problems = problemsOf(configuration, host, dataFolder);
    return { problems, plugins: host.statuses(), value: configuration.value, engines };
  } finally {
    await host.stop();
    await runtime.close();
    await store.close();
    await host.stopStore();
    await rm(scratch, { recursive: true, force: true });
  }
}
