import type { Store } from "@svc/sdk";
import type { Servers } from "./merge.ts";

/** The servers last written to each workspace: they distinguish a manual change from an older entry of ours. */
export interface Ledger {
  read(workspace: string): Promise<Servers>;
  write(workspace: string, servers: Servers): Promise<void>;
}

/** Makes the record of which tool servers this plugin wrote into each workspace. */
export function createLedger(store: Store): Ledger {
  const written = () => store.collection<{ readonly servers: Servers }>("written");
  return {
    read: async (workspace) => (await written().get(workspace))?.value.servers ?? {},
    async write(workspace, servers) {
      if (JSON.stringify(await this.read(workspace)) === JSON.stringify(servers)) return;
      await written().put(workspace, { servers });
    },
  };
}
