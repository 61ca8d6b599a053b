import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createKernel, type Kernel, type KernelOptions } from "@svc/kernel";
import { temporaryFolder } from "./kernel.ts";
import { testDriver } from "./test-store.ts";

/** `createKernel` on the store that tests run on: with `SVC_TEST_STORE=postgres` the schema that belongs to its data folder, or one of its own. */
export async function createTestKernel(options: KernelOptions): Promise<Kernel> {
  const { config, folder, store } = options;
  const dataFolder = options.dataFolder ?? (typeof config === "string" ? join(folder ?? dirname(config), ".svc") : undefined);
  if (dataFolder !== undefined) await mkdir(dataFolder, { recursive: true });
  const driver = store ?? (await testDriver(dataFolder));
  // Where no file says where, the agents' folders would be made in the one that the tests run in.
  const own = typeof config === "string" || folder !== undefined ? {} : { folder: await temporaryFolder() };
  return createKernel({ ...options, ...own, ...(driver === undefined ? {} : { store: driver }) });
}
