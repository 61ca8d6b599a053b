/* The assembling file: hands each room to the core, which knows them as ports. No other file sees all of them. */

import { createActions } from "./actions/actions.ts";
import { fail } from "./base/errors.ts";
import { createKernel as assemble } from "./core/boot/kernel.ts";
import type { Kernel } from "./core/boot/kernel-api.ts";
import type { KernelParts } from "./core/boot/kernel-parts.ts";
import type { CoreOptions } from "./core/boot/options.ts";
import type { PhaseLimits } from "./core/host/hosted-plugin.ts";
import { createDeliveries } from "./delivery/deliveries.ts";
import { hostParts } from "./host-parts.ts";
import type { IsolationLimits } from "./isolation/isolation-limits.ts";
import { Lanes } from "./lanes/lanes.ts";
import { recover } from "./lanes/recover.ts";
import { createJobs } from "./schedule/jobs.ts";
import { whyNoPlugin } from "./sources/manifest.ts";

/** Options of a program that embeds the kernel. Everything with an effect outside the process is off by default. */
export interface KernelOptions extends Omit<CoreOptions, "limits"> {
  /** Time limits in milliseconds for each phase of a plugin's life, and limits for the process of an isolated one. */
  readonly limits?: Partial<PhaseLimits> & { readonly isolation?: Partial<IsolationLimits> };
}

/** The rooms, each loaded when it is first needed. */
export const PARTS: KernelParts = partsWith({});

function partsWith(isolationLimits: Partial<IsolationLimits>): KernelParts {
  return {
    async http() {
      const [{ openServing }, owners] = await Promise.all([import("./http/serving.ts"), import("./isolation/own-sockets.ts")]);
      return { load: () => import("./http/index.ts"), open: (deps) => openServing(deps, owners) };
    },
    ...hostParts(isolationLimits),
    exposures: () => import("./editor/exposure.ts"),
    settings: () => import("./editor/plugin-settings.ts"),
    status: () => import("./status/index.ts"),
    async maintenance() {
      const [{ createWorkspaces }, { createRestarts }] = await Promise.all([import("./maintenance/workspaces.ts"), import("./maintenance/restart.ts")]);
      return {
        createRestarts,
        createWorkspaces,
        startMaintenance: async (deps) => (await import("./maintenance/maintenance.ts")).startMaintenance(deps),
      };
    },
    media: () => import("./media/fetch-media.ts"),
    delivery: { createDeliveries },
    work: { createWork: (worker, { deps }) => new Lanes(worker, (ops) => deps.store.commit(ops)), recover: (deps) => recover(deps) },
    sharedWork: async () => (await import("./lanes/shared-work.ts")).sharedWork(),
    actions: { createActions, tools: () => import("./actions/agent-tools.ts") },
    schedule: { createJobs },
  };
}

/**
 * Creates a kernel: reads and checks the configuration and imports the plugins it names. Throws `SVC_CONFIG_*` if the configuration is not valid,
 * `SVC_PLUGIN_VALUE` for an entry of `plugins` that is no plugin.
 */
export async function createKernel({ limits: { isolation, ...limits } = {}, ...options }: KernelOptions): Promise<Kernel> {
  for (const [index, plugin] of (options.plugins ?? []).entries()) {
    const reason = whyNoPlugin(plugin);
    if (reason !== undefined) throw fail("SVC_PLUGIN_VALUE", { index, reason });
  }
  return assemble({ ...options, limits }, isolation === undefined ? PARTS : partsWith(isolation));
}
