import type { Child, Log, Spawn } from "@svc/sdk";
import type { LibraryDeps, LoadedCapability } from "../../base/capability.ts";
import { folderMark } from "../../base/process-identity.ts";
import { startChild } from "./child.ts";
import { openChildRecords } from "./child-records.ts";
import { sweepOrphans } from "./sweep.ts";

/** Dependencies of starting children. */
export interface SpawnDeps {
  /** Marks the children of one data folder: the beginning of the variable `SVC_RUN` in their environment. */
  readonly marker: string;
  /** The daemon's environment, of which a child gets only a named few. */
  readonly baseEnv: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Stores the process of a task, so that a later daemon can end it. `identity` distinguishes it from a later process with the same id. */
  readonly record?: (taskId: string, pid: number, identity: string) => Promise<void>;
}

/** `ctx.spawn` of one plugin, with the method that ends its children. */
export interface Spawner extends Spawn {
  /** Stops every running child with its tree. Resolves when they have ended; from then on none starts. */
  stopAll(): Promise<void>;
}

/** Creates the capability `spawn`. First ends orphans of an earlier daemon of the same data folder. */
export async function spawnCapability({ env, log, store, files }: LibraryDeps): Promise<LoadedCapability<Spawn>> {
  const marker = folderMark(files.dataFolder);
  const { record, earlier } = await openChildRecords(store, marker);
  await sweepOrphans({ marker, recorded: earlier, log });
  const spawners = new Set<Spawner>();
  return {
    make({ id, onEnd }) {
      const spawner = createSpawn({ marker, log: log.child(id), baseEnv: env, record });
      spawners.add(spawner);
      // Kept until its last child has ended: a stop of the kernel waits for it.
      onEnd(() => void spawner.stopAll().finally(() => spawners.delete(spawner)));
      return spawner;
    },
    close: async () => void (await Promise.all([...spawners].map((spawner) => spawner.stopAll()))),
  };
}

/**
 * Starts the programs of one plugin. A child never outlives its run: whatever it started is ended with it, found by its process group, by
 * descent, and by the mark where it moved to a session of its own. Without /proc the process group is all that can be found.
 */
export function createSpawn(deps: SpawnDeps): Spawner {
  const live = new Set<Child>();
  let over = false;
  const spawn: Spawn = (command, args, options) => {
    const child = startChild(deps, command, args, options);
    live.add(child);
    void child.ended.then(() => live.delete(child));
    // `stopAll` ran while it was started.
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
