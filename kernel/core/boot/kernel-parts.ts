import type { Log, StoreDriver } from "@svc/sdk";
import type { ConfigProblem } from "../config/check.ts";
import type { Configuration } from "../config/configuration.ts";
import type { CapabilityLibraries } from "../host/capability-libraries.ts";
import type { IsolationPart } from "../host/isolation-port.ts";
import type { IntegrityPart, QuarantinePart } from "../host/supply-port.ts";
import type { HttpPart } from "./http-port.ts";

/** The room that keeps the state. */
export interface StorePart {
  /** Throws `SVC_STORE_CORRUPT`, `SVC_STORE_NEWER`, `SVC_STORE_BUSY`. */
  openStore(options: { readonly file: string; readonly log?: Log; readonly now?: () => number }): StoreDriver;
}

/** What others on this machine could see of the daemon's own files. */
export interface ExposurePart {
  exposures(configuration: Configuration, dataFolder: string): readonly ConfigProblem[];
}

/**
 * The rooms beside the core, each loaded when it is first needed. The core knows them by these interfaces only; `create-kernel.ts`, which
 * assembles the kernel, hands them over.
 */
export interface KernelParts {
  http(): Promise<HttpPart>;
  isolation(): Promise<IsolationPart>;
  integrity(): Promise<IntegrityPart>;
  quarantine(): Promise<QuarantinePart>;
  exposures(): Promise<ExposurePart>;
  store(): Promise<StorePart>;
  readonly capabilities: CapabilityLibraries;
}
