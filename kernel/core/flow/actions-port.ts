import type { Actions, Log } from "@svc/sdk";
import type { ScopedStore } from "../../base/state-store.ts";
import type { Bus } from "../bus/bus.ts";
import type { Live } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import type { TaskRecord } from "./record.ts";

/** What running actions stands on. */
export interface ActionDeps {
  readonly store: ScopedStore;
  readonly bus: Bus;
  readonly log: Log;
  readonly now: () => number;
  live(): Live;
  /** The running task of that id, to add the call to its trace. */
  task(id: string): TaskRecord | undefined;
  failed(scope: Scope, what: string, error: unknown): void;
}

/** The room that runs actions for agents, people and other plugins. */
export interface ActionPart {
  createActions(deps: ActionDeps): Actions;
}
