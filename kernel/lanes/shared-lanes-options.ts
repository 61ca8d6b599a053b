import type { Log, Op, StoreWork } from "@svc/sdk";
import type { Elsewhere, QueueMode, Worker } from "../core/flow/work.ts";
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
  /** An item that entered here has ended elsewhere. */
  ended?(item: T): void;
  /** The agents that this daemon works for, as it is configured now. Default: those of which something entered here. */
  agents?(): ReadonlyMap<string, LaneRules>;
  /** The rules of an agent of which something waits, wherever it entered. Default: this daemon leaves to others what nothing of entered here. */
  rulesOf?(agent: string): LaneRules;
  /** Called at each look, after what others left was found. */
  looked?(): Promise<void>;
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
