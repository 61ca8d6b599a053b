import type { PluginContext } from "@svc/sdk";
import { Coordinator } from "./coordinator.ts";
import { systemProcesses } from "./process-table.ts";

/** The coordinator on this machine's processes and clocks, with what an earlier run left put in order. */
export async function openCoordinator({ store, jobs, log }: PluginContext): Promise<Coordinator> {
  const coordinator = new Coordinator({ store, jobs, log, table: systemProcesses(), clocks: { now: () => Date.now(), span: () => performance.now() } });
  await coordinator.recover();
  return coordinator;
}
