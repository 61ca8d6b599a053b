import type { Health, PluginStatus } from "../core/boot/kernel-api.ts";
import type { HealthDeps } from "../core/boot/status-port.ts";

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

/** It was to run and does not. */
export const isDown = ({ state }: PluginStatus): boolean => state === "failed" || state === "quarantined";
const isUnwell = (plugin: PluginStatus) => isDown(plugin) || (plugin.state === "running" && plugin.isolation?.state === "waiting");
