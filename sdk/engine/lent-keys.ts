import { type LoopbackRelay, openLoopbackRelay, type Vendor } from "./relay.ts";

/** Lends engines the use of a key without the key: each vendor's relay stays for as long as the plugin runs. */
export interface LentKeys {
  /** The relay for that vendor, opened at its first use. Rejects when no port can be had. */
  relayFor(vendor: Vendor): Promise<LoopbackRelay>;
  close(): Promise<void>;
}

export function createLentKeys(): LentKeys {
  const relays = new Map<string, Promise<LoopbackRelay>>();
  return {
    relayFor(vendor) {
      const key = JSON.stringify(vendor);
      const known = relays.get(key);
      if (known !== undefined) return known;
      const opening = openLoopbackRelay(vendor);
      relays.set(key, opening);
      opening.catch(() => relays.delete(key));
      return opening;
    },
    async close() {
      const open = [...relays.values()];
      relays.clear();
      await Promise.all(open.map(async (relay) => (await relay.catch(() => undefined))?.close()));
    },
  };
}
