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
  /** Creates missing workspaces. Resolves when all were tried, after 2 s at the latest. A later call replaces an earlier one. */
  make(agents: readonly Agent[]): Promise<void>;
  /** Retries what failed. */
  again(): Promise<void>;
}

/** Dependencies of the maintenance of a running daemon. */
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

/** Origin and reason of a restart request. */
export interface RestartRequest {
  readonly by?: string;
  readonly reason?: string;
}

/** Dependencies of restart requests. `now` is called again while one is scheduled, so that a change of the clock counts. */
export interface RestartDeps {
  config(): Readonly<Record<string, unknown>>;
  now(): number;
  /** Begins the restart. Unset where the program is not started anew. */
  readonly begin?: ((request: RestartRequest) => void) | undefined;
}

/** The requests to restart: at most one is scheduled, the earliest. */
export interface Restarts {
  /**
   * Returns when a requested restart begins, in Unix milliseconds; never before the response is sent. Throws `SVC_RESTART_UNSUPPORTED`,
   * `SVC_RESTART_REFUSED`.
   */
  ask(request: RestartRequest): number;
  /** Cancels the scheduled restart. */
  cancel(): void;
  /** Does a restart give up rather than interrupt work that still runs after the drain? */
  isIdleOnly(): boolean;
}

/** Port of `kernel/maintenance`: workspaces, retention of the stored state, rules for restarts. */
export interface MaintenancePart {
  createRestarts(deps: RestartDeps): Restarts;
  /** `onChange` receives the problems when an agent's folder disappears or is back. */
  createWorkspaces(log: Log, onChange: (problems: ReadonlyMap<string, string>) => void): Workspaces;
  /** Starts the periodic maintenance jobs: they end with the schedule. */
  startMaintenance(deps: MaintenanceDeps): Promise<void>;
}
