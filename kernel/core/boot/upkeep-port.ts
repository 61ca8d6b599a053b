import type { Agent, Log } from "@svc/sdk";
import type { Bus } from "../bus/bus.ts";
import type { Runtime } from "./runtime.ts";

/** The folders that agents work in. */
export interface Workspaces {
  /** Why an agent has none, for people, by agent. */
  readonly problems: ReadonlyMap<string, string>;
  /**
   * Makes what is missing. Resolves when all were tried, after 2 s at the latest. A later call takes the place of an earlier one.
   */
  make(agents: readonly Agent[]): Promise<void>;
  /** Tries once more what failed. */
  again(): Promise<void>;
}

/** What is looked after while the daemon runs. */
export interface MaintenanceDeps {
  readonly runtime: Pick<Runtime, "store" | "core" | "schedule">;
  readonly workspaces: Workspaces;
  /** Of the configuration; both undefined where nothing is kept on disk. */
  readonly folder?: string;
  readonly dataFolder?: string;
  readonly log: Log;
  readonly bus: Pick<Bus, "publish">;
  now(): number;
  config(): Readonly<Record<string, unknown>>;
}

/** The room that looks after what a daemon keeps: workspaces, and how long and how much is kept. */
export interface UpkeepPart {
  /** `onChange` hears the problems when an agent lost its folder or has it again. */
  createWorkspaces(log: Log, onChange: (problems: ReadonlyMap<string, string>) => void): Workspaces;
  /** Starts what is done beside the work, now and then: it ends with the schedule. */
  startMaintenance(deps: MaintenanceDeps): Promise<void>;
}
