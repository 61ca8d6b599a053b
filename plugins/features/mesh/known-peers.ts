import type { PluginContext } from "@svc/sdk";
import type { Peer } from "./settings.ts";

/** A peer as it was configured at the last start. */
interface Known {
  readonly url: string;
}

const MOST = 1_000;

/** Publishes `added` and `removed` for the peers that the file names since the last start, or no longer names. */
export async function tellChanges(configured: readonly Peer[], { store, events }: Pick<PluginContext, "store" | "events">): Promise<void> {
  const rows = store.collection<Known>("known");
  const before = new Map((await rows.list({ limit: MOST })).map(({ key, value }) => [key, value]));
  const tell = (type: "added" | "removed", peer: string) => void events.publish({ kind: "mesh", type, summary: `the peer ${peer}: ${type}`, data: { peer } });
  for (const { name, url } of configured) {
    if (before.get(name)?.url !== url) await rows.put(name, { url });
    if (!before.has(name)) tell("added", name);
  }
  for (const name of before.keys()) {
    if (configured.some((peer) => peer.name === name)) continue;
    await rows.delete(name);
    tell("removed", name);
  }
}
