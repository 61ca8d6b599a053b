import type { Health, PluginStatus } from "../core/boot/kernel-api.ts";
import type { HealthDeps, StatusPart } from "../core/boot/status-port.ts";

/** The answer of `/health`. */
export function healthOf({ startedAt, now, tasks, unusable, storage, fatal, ...facts }: HealthDeps): Health {
  return {
    ...facts,
    ok: facts.ok && storage?.ok !== false,
    pid: process.pid,
    uptimeSeconds: Math.round((now - startedAt) / 1000),
    tasks: { running: tasks?.running().length ?? 0, queued: tasks?.queued().length ?? 0 },
    problems: [
      ...facts.plugins.filter(isUnwell).map(({ id, reason }) => `${id}: ${reason}`),
      ...[...unusable].map(([id, reason]) => `agent ${id}: ${reason}`),
      ...new Set([fatal?.message, storage?.reason].filter((problem) => problem !== undefined)),
    ],
  };
}

/** The same as plugins are told of it, with the channels of running plugins by name. */
export const lentHealth: StatusPart["lentHealth"] = (health, live, listens, storeBytes) => ({
  ...health,
  channels: [...live.channels.values()]
    .map(({ thing: { name }, state, reason }) => ({ name, state, ...(reason === undefined || state === "ready" ? {} : { why: reason }) }))
    .sort((left, right) => (left.name < right.name ? -1 : 1)),
  ...(listens === undefined ? {} : { listens }),
  ...(storeBytes === undefined ? {} : { storeBytes }),
});

/** It was to run and does not. */
export const isDown = ({ state }: PluginStatus): boolean => state === "failed" || state === "quarantined";
const isUnwell = (plugin: PluginStatus) => isDown(plugin) || (plugin.state === "running" && plugin.isolation?.state === "waiting");
