import { reasonOf } from "@svc/sdk";
import { openFilesProblem } from "../base/open-files.ts";
import type { Health, PluginStatus } from "../core/boot/kernel-api.ts";
import type { HealthDeps, StatusPart } from "../core/boot/status-port.ts";
import type { Live } from "../core/host/live.ts";

/** The answer of `/health`. */
export function healthOf({ startedAt, now, tasks, unusable, storage, fatal, live, ...facts }: HealthDeps): Health {
  return {
    ...facts,
    ok: facts.ok && storage?.ok !== false,
    pid: process.pid,
    uptimeSeconds: Math.round((now - startedAt) / 1000),
    tasks: { running: tasks?.running().length ?? 0, queued: tasks?.queued().length ?? 0 },
    problems: [
      ...facts.plugins.filter(isUnwell).map(({ id, reason }) => `${id}: ${reason}`),
      ...told(live),
      ...[...unusable].map(([id, reason]) => `agent ${id}: ${reason}`),
      ...new Set([fatal?.message, storage?.reason, openFilesProblem()].filter((problem) => problem !== undefined)),
    ],
  };
}

/** Returns the problems that running plugins report through a service whose name ends in `.health`. */
function told(live: Live): readonly string[] {
  return [...live.services.values()].flatMap(({ scope, thing: { name, api } }) => {
    if (!name.endsWith(".health")) return [];
    try {
      return (api as { problems(): readonly string[] }).problems().map((problem) => `${scope.id}: ${String(problem).slice(0, 500)}`);
    } catch (error) {
      return [`${scope.id}: does not say how it is: ${reasonOf(error)}`];
    }
  });
}

/** Health as plugins get it, with the channels of running plugins by name. */
export const lentHealth: StatusPart["lentHealth"] = (health, live, listens, storeBytes) => ({
  ...health,
  channels: [...live.channels.values()]
    .map(({ thing: { name }, state, reason }) => ({ name, state, ...(reason === undefined || state === "ready" ? {} : { why: reason }) }))
    .sort((left, right) => (left.name < right.name ? -1 : 1)),
  ...(listens === undefined ? {} : { listens }),
  ...(storeBytes === undefined ? {} : { storeBytes }),
});

/** Whether it should run and does not. */
export const isDown = ({ state }: PluginStatus): boolean => state === "failed" || state === "quarantined";
const isUnwell = (plugin: PluginStatus) => isDown(plugin) || (plugin.state === "running" && plugin.isolation?.state === "waiting");
