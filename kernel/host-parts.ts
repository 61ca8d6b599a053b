/* The rooms that reading and importing plugins needs. With these alone svc.json is read, checked and changed: half of what a kernel loads. */

import { createRequire } from "node:module";
import { dirname } from "node:path";
import { LIBRARIES } from "./capabilities/libraries.ts";
import type { KernelParts } from "./core/boot/kernel-parts.ts";
import type { IsolationLimits } from "./isolation/isolation-limits.ts";

/** The default store: a package of its own, resolved beside the kernel and not among its dependencies. */
const DEFAULT_STORE = "@svc/store-sqlite";

function findDefaultStore(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${DEFAULT_STORE}/package.json`));
  } catch {
    return undefined;
  }
}

/** The rooms, each loaded when it is first needed. */
export function hostParts(
  isolationLimits: Partial<IsolationLimits>,
): Pick<KernelParts, "isolation" | "integrity" | "quarantine" | "defaultStore" | "capabilities"> {
  return {
    async isolation() {
      const { isolate } = await import("./isolation/isolate.ts");
      return { isolate: (source, deps) => isolate(source, { ...deps, limits: { ...deps.limits, ...isolationLimits } }) };
    },
    integrity: () => import("./supply/integrity.ts"),
    quarantine: () => import("./supply/quarantine.ts"),
    defaultStore: { package: DEFAULT_STORE, find: findDefaultStore },
    capabilities: { rows: LIBRARIES, sweep: () => import("./capabilities/processes/sweep.ts") },
  };
}
