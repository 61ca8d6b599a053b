import type { StateStore } from "../../base/state-store.ts";
import type { LiveTasks } from "../flow/live-tasks.ts";
import type { Health, PluginStatus } from "./kernel-api.ts";

/** What health is told from. */
export interface HealthDeps extends Omit<Health, "pid" | "uptimeSeconds" | "tasks" | "problems"> {
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly now: number;
  /** Undefined while nothing runs. */
  readonly tasks: Pick<LiveTasks, "running" | "queued"> | undefined;
  /** Agents that cannot run, each with the reason. */
  readonly unusable: ReadonlyMap<string, string>;
  /** What the store says of itself; undefined while it is not open. */
  readonly storage: ReturnType<StateStore["health"]> | undefined;
  readonly fatal: Error | undefined;
}

/** The answer of `/health`. */
export function healthOf({ startedAt, now, tasks, unusable, storage, fatal, ...told }: HealthDeps): Health {
  return {
    ...told,
    ok: told.ok && storage?.ok !== false,
    pid: process.pid,
    uptimeSeconds: Math.round((now - startedAt) / 1000),
    tasks: { running: tasks?.running().length ?? 0, queued: tasks?.queued().length ?? 0 },
    problems: [
      ...told.plugins.filter(isUnwell).map(({ id, reason }) => `${id}: ${reason}`),
      ...[...unusable].map(([id, reason]) => `agent ${id}: ${reason}`),
      ...new Set([fatal?.message, storage?.reason].filter((problem) => problem !== undefined)),
    ],
  };
}

/** It was to run and does not. */
export const isDown = ({ state }: PluginStatus): boolean => state === "failed" || state === "quarantined";
const isUnwell = (plugin: PluginStatus) => isDown(plugin) || (plugin.state === "running" && plugin.isolation?.state === "waiting");
