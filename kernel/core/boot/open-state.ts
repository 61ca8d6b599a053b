import type { StoreDriver } from "@svc/sdk";
import { type StateStore, stateStore } from "../../base/state-store.ts";
import type { Assembly } from "./assembly.ts";

/** Opens the state: with the driver of the embedding program, else with the store plugin, which is set up before all others. Throws `SVC_STORE_*`. */
export async function openState({ host, settings, locations, node, log, now }: Assembly, given?: StoreDriver): Promise<StateStore> {
  if (given !== undefined) return stateStore(given);
  const { onDisk, dataFolder, env } = locations;
  const store = await host.setUpStore(settings.configuration.wanted, { node, log, env });
  return stateStore(await store.open({ folder: onDisk ? dataFolder : undefined, now }));
}
