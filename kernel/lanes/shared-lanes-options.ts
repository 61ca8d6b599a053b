import type { Log, Op, StoreHints, StoreWork } from "@svc/sdk";
import type { Elsewhere, Placement, QueueMode, Worker } from "../core/flow/work.ts";
import type { TurnLimits } from "./lanes.ts";

/** Dependencies of shared lanes on the daemon that they serve. */
export interface SharedLanesOptions<T> {
  readonly rows: StoreWork;
  readonly worker: Worker<T>;
  readonly elsewhere?: Elsewhere;
  readonly log: Pick<Log, "warn">;
  idOf(item: T): string;
  /**
   * An item that entered elsewhere, or before a restart, or that was claimed before (`known`, where it entered here); undefined when it has
   * ended.
   */
  load(id: string, known?: T): Promise<T | undefined>;
  /** Writes that store an entering item, so that other daemons can load it. */
  stored?(item: T): readonly Op[];
  /** Whether this machine has the local state of the conversation after the turn of this item. Default: no conversation has a home. */
  isHome?(item: T): boolean;
  /** The turn of an item is about to begin here; `from` is the node that was the home of its conversation, where that is another one. */
  moved?(item: T, from: string | undefined): void;
  /** An item that entered here has ended elsewhere. */
  ended?(item: T): void;
  /** The agents that this daemon works for, as configured now. Default: those with items that were entered here. */
  agents?(): ReadonlyMap<string, LaneRules>;
  /** Rules of an agent with waiting work, wherever it entered. Default: this daemon leaves agents without work from here to others. */
  rulesOf?(agent: string): LaneRules;
  /** Called at each poll, after the work left by others was found. */
  looked?(): Promise<void>;
  /** Wakes the others, and is woken by them. */
  readonly hints?: StoreHints;
  readonly turn?: TurnLimits;
  /** Interval of polling for changes that no call of this daemon reports. */
  readonly everyMs?: number;
}

/** Limits and mode of an agent's waiting work. */
export interface LaneRules {
  /** Parallel turns. */
  readonly limit: number;
  readonly mode?: QueueMode;
}

/** Returns the agents whose lanes this daemon claims, with their current rules: those of `placements`, and those with waiting work. */
export function agentsOf<T>(
  { agents, rulesOf }: SharedLanesOptions<T>,
  placements: ReadonlyMap<string, Placement>,
  waiting: ReadonlySet<string>,
): ReadonlyMap<string, LaneRules> {
  if (agents !== undefined) return agents();
  const found = new Map<string, LaneRules>([...placements].map(([agent, { limit }]) => [agent, { limit: limit() }]));
  if (rulesOf !== undefined) for (const agent of [...found.keys(), ...waiting]) found.set(agent, rulesOf(agent));
  return found;
}
