import type { ConfigProblem } from "../config/check.ts";
import type { Configuration } from "../config/configuration.ts";
import type { ActionPart } from "../flow/actions-port.ts";
import type { DeliveryPart } from "../flow/deliveries-port.ts";
import type { MediaPart } from "../flow/media-port.ts";
import type { WorkPart } from "../flow/work.ts";
import type { CapabilityPart } from "../host/capabilities.ts";
import type { IsolationPart } from "../host/isolation-port.ts";
import type { DefaultStore } from "../host/store-plugin.ts";
import type { IntegrityPart, QuarantinePart } from "../host/supply-port.ts";
import type { HttpPart } from "./http-port.ts";
import type { MaintenancePart } from "./maintenance-port.ts";
import type { SchedulePart } from "./schedule-port.ts";
import type { SettingsPart } from "./settings-port.ts";
import type { StatusPart } from "./status-port.ts";

/** Check of the permissions with which others on this machine could read the daemon's own files. */
export interface ExposurePart {
  exposures(configuration: Configuration, dataFolder: string): readonly ConfigProblem[];
}

/**
 * The rooms beside the core, most loaded when they are first needed. The core knows them by these interfaces only; `create-kernel.ts`, which
 * assembles the kernel, hands them over.
 */
export interface KernelParts {
  http(): Promise<HttpPart>;
  isolation(): Promise<IsolationPart>;
  integrity(): Promise<IntegrityPart>;
  quarantine(): Promise<QuarantinePart>;
  exposures(): Promise<ExposurePart>;
  settings(): Promise<SettingsPart>;
  status(): Promise<StatusPart>;
  maintenance(): Promise<MaintenancePart>;
  media(): Promise<MediaPart>;
  readonly defaultStore: DefaultStore;
  readonly delivery: DeliveryPart;
  readonly work: WorkPart;
  /** Used in place of `work` if several daemons may share the store; for one run of the kernel. */
  sharedWork(): Promise<WorkPart>;
  readonly actions: ActionPart;
  readonly schedule: SchedulePart;
  readonly capabilities: CapabilityPart;
}
