import type { PluginContext } from "@svc/sdk";
import { Desk } from "./desk.ts";
import { systemProcesses } from "./process-table.ts";

/** The desk on this machine's processes and clocks, with what an earlier run left put in order. */
export async function openDesk({ store, jobs, log }: PluginContext): Promise<Desk> {
  const desk = new Desk({ store, jobs, log, table: systemProcesses(), clocks: { now: () => Date.now(), span: () => performance.now() } });
  await desk.recover();
  return desk;
}
