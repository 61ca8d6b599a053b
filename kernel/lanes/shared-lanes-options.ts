import type { Log, Op, StoreHints, StoreWork } from "@svc/sdk";
import type { Elsewhere, Placement, QueueMode, Worker } from "../core/flow/work.ts";
import type { TurnLimits } from "./lanes.ts";

/** What the lanes of several daemons need of the one that they serve. */
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
  /** What is stored as an item enters, so that others can load it. */
  stored?(item: T): readonly Op[];
  /** Whether this machine has what the conversation goes on with after the turn of this item. Default: no conversation has a home. */
  isHome?(item: T): boolean;
  /** The turn of an item is about to begin here; `from` is the node that was the home of its conversation, where that is another one. */
  moved?(item: T, from: string | undefined): void;
  /** An item that entered here has ended elsewhere. */
  ended?(item: T): void;
  /** The agents that this daemon works for, as it is configured now. Default: those of which something entered here. */
  agents?(): ReadonlyMap<string, LaneRules>;
  /** The rules of an agent of which something waits, wherever it entered. Default: this daemon leaves to others what nothing of entered here. */
  rulesOf?(agent: string): LaneRules;
  /** Called at each look, after what others left was found. */
  looked?(): Promise<void>;
  /** Wakes the others, and is woken by them. */
  readonly hints?: StoreHints;
  readonly turn?: TurnLimits;
  /** How often it is looked after what no call of this daemon tells. */
  readonly everyMs?: number;
}

/** How an agent takes what waits for it. */
export interface LaneRules {
  /** Parallel turns. */
  readonly limit: number;
  readonly mode?: QueueMode;
}

/** The agents whose lanes this daemon claims, with their rules as they are now: of those of `placements`, and of those for whom something waits. */
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
