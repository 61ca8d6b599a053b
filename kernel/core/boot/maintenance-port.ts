import type { Agent, Log } from "@svc/sdk";
import type { Bus } from "../bus/bus.ts";
import type { Address } from "./http-port.ts";
import type { Health } from "./kernel-api.ts";
import type { Runtime } from "./runtime.ts";
import type { Settings } from "./settings.ts";

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
  readonly bus: Pick<Bus, "node" | "publish" | "subscribe" | "inject">;
  now(): number;
  readonly settings: Pick<Settings, "value" | "configuration">;
  health(): Pick<Health, "version" | "problems" | "instance">;
  address(): Address | undefined;
}

/** Who asks for a restart, and why. */
export interface RestartRequest {
  readonly by?: string;
  readonly reason?: string;
}

/** What the requests stand on. `now` is asked again while one is scheduled, so that a clock that is set counts. */
export interface RestartDeps {
  config(): Readonly<Record<string, unknown>>;
  now(): number;
  /** Begins the restart. Unset where the program is not started anew. */
  readonly begin?: ((request: RestartRequest) => void) | undefined;
}

/** The requests to restart: at most one is scheduled, the earliest. */
export interface Restarts {
  /**
   * Judges a request and answers when it begins, in Unix milliseconds; never before the caller has had its answer. Throws
   * `SVC_RESTART_UNSUPPORTED` and `SVC_RESTART_REFUSED`.
   */
  ask(request: RestartRequest): number;
  /** Forgets what is scheduled. */
  cancel(): void;
  /** Does a restart give up rather than interrupt work that still runs after the drain? */
  isIdleOnly(): boolean;
}

/** The room that looks after what a daemon keeps and when it may restart: workspaces, how long and how much is kept, rules of restarts. */
export interface MaintenancePart {
  createRestarts(deps: RestartDeps): Restarts;
  /** `onChange` hears the problems when an agent lost its folder or has it again. */
  createWorkspaces(log: Log, onChange: (problems: ReadonlyMap<string, string>) => void): Workspaces;
  /** Starts what is done beside the work, now and then: it ends with the schedule. */
  startMaintenance(deps: MaintenanceDeps): Promise<void>;
}
