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

/** The proxy on the way to `base`, by the variables that programs read; undefined where it is spared. */
export function proxyFor(base: string, { HTTPS_PROXY, NO_PROXY = "" }: Readonly<Record<string, string>>): string | undefined {
  const { hostname } = new URL(base);
  const spared = NO_PROXY.split(",").map((name) =>
    name
      .trim()
      .replace(/^\*?\./, "")
      .toLowerCase(),
  );
  const direct = spared.some((name) => name === "*" || (name !== "" && (hostname === name || hostname.endsWith(`.${name}`))));
  return HTTPS_PROXY === undefined || HTTPS_PROXY === "" || direct ? undefined : HTTPS_PROXY;
}
