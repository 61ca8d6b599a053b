import type { Warm } from "@svc/sdk";
import type { Server } from "./server.ts";

/** The tool servers of one turn, by name. */
export type ServerSet = Map<string, Server>;

/** Tool servers kept ready between turns: for each configuration of an agent, as many sets as turns ran side by side. */
export interface ServerPool {
  /** A set that is ready, or an empty one. Sets of an agent's former configuration end. */
  take(agent: string, configuration: string): ServerSet;
  /** Keeps the set for the next turn, by the limits of `processPool`. */
  keep(agent: string, configuration: string, set: ServerSet): void;
}

/** Sets kept for one agent at most. */
const SLOTS = 4;

/** Makes the pool of running tool servers; each set serves one run at a time. */
export function createServerPool(warm: () => Warm): ServerPool {
  const current = new Map<string, string>();
  const slots = (agent: string, configuration: string) =>
    Array.from({ length: SLOTS }, (_, slot) => `tool-servers ${JSON.stringify([agent, configuration, slot])}`);

  function takeOne(agent: string, configuration: string): ServerSet | undefined {
    for (const key of slots(agent, configuration)) {
      const set = warm().take<ServerSet>(key);
      warm().drop(key);
      if (set !== undefined) return set;
    }
    return undefined;
  }

  return {
    take(agent, configuration) {
      const before = current.get(agent);
      current.set(agent, configuration);
      if (before !== undefined && before !== configuration) {
        for (let old = takeOne(agent, before); old !== undefined; old = takeOne(agent, before)) void closeAll(old);
      }
      const set = takeOne(agent, configuration) ?? new Map();
      for (const [name, server] of set) if (server.ended()) set.delete(name);
      return set;
    },
    keep(agent, configuration, set) {
      const free = current.get(agent) === configuration ? slots(agent, configuration).find((key) => !warm().has(key)) : undefined;
      if (free === undefined || set.size === 0) void closeAll(set);
      else warm().keep(free, set, () => closeAll(set), new Promise(() => undefined));
    },
  };
}

/** Closes every server of a set. */
export const closeAll = async (set: ServerSet): Promise<void> => void (await Promise.all([...set.values()].map((server) => server.close())));
