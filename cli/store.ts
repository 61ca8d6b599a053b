import type { ProvidedStore } from "@svc/sdk";
import { firstParty } from "./catalog.ts";
import type { Cli } from "./cli.ts";
import { offlineCode } from "./kernel-code.ts";

/** Returns the store of a configuration: its state can be checked and copied, even while a daemon runs. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`. */
export async function storeFor({ file, dataFolder }: Pick<Cli, "file" | "dataFolder">): Promise<ProvidedStore> {
  const { findStore } = offlineCode();
  const known = firstParty().flatMap(({ folder, manifest }) => (manifest.kind === "store" ? [folder] : []));
  return findStore({ file, dataFolder, known, env: process.env });
}
