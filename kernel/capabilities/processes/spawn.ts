import type { Child, Log, Spawn } from "@svc/sdk";
import { startChild } from "./child.ts";

/** What children are made of. */
export interface SpawnDeps {
  /** Marks the children of one data folder: the beginning of the variable `SVC_RUN` in their environment. */
  readonly marker: string;
  /** The daemon's environment, of which a child gets only a named few. */
  readonly baseEnv: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Keeps the process of a task, so that a later daemon can end it. `identity` tells it from a later process with the same id. */
  readonly record?: (taskId: string, pid: number, identity: string) => Promise<void>;
}

/** The capability `spawn`, and the way to end what it started. */
export interface Spawner extends Spawn {
  /** Stops every child that still runs, each with its tree. Resolves when they are gone; from then on none starts. */
  stopAll(): Promise<void>;
}

/**
 * The capability `spawn`. A child never outlives its run: whatever it started is ended with it, found by its process group, by
 * descent, and by the mark where it moved to a session of its own. Without /proc the process group is all that can be found.
 */
export function createSpawn(deps: SpawnDeps): Spawner {
  const live = new Set<Child>();
  let over = false;
  const spawn: Spawn = (command, args, options) => {
    const child = startChild(deps, command, args, options);
    live.add(child);
    void child.ended.then(() => live.delete(child));
    // Whoever would have stopped it has asked already.
    if (over) void child.stop();
    return child;
  };
  return Object.assign(spawn, {
    async stopAll() {
      over = true;
      await Promise.all([...live].map((child) => child.stop()));
    },
  });
}
