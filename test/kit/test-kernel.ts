import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createKernel, type Kernel, type KernelOptions } from "@svc/kernel";
import { testDriver } from "./test-store.ts";

/** `createKernel` on the store that tests run on: with `SVC_TEST_STORE=postgres` the schema that belongs to its data folder, or one of its own. */
export async function createTestKernel(options: KernelOptions): Promise<Kernel> {
  const { config, folder, store } = options;
  const dataFolder = options.dataFolder ?? (typeof config === "string" ? join(folder ?? dirname(config), ".svc") : undefined);
  if (dataFolder !== undefined) await mkdir(dataFolder, { recursive: true });
  const driver = store ?? (await testDriver(dataFolder));
  return createKernel(driver === undefined ? options : { ...options, store: driver });
}
