import { type LoopbackRelay, openLoopbackRelay, type Vendor } from "./relay.ts";

/** Gives engines the use of a key without the key: one relay for each vendor and key, kept until `close`. */
export interface KeyRelays {
  /**
   * The relay for that vendor, opened at its first use. When another key is named for the same address, the relay of the former key is closed:
   * requests in progress complete, new ones are refused. Rejects when no port is free.
   */
  relayFor(vendor: Vendor): Promise<LoopbackRelay>;
  /** Closes all relays and ends their connections. The plugin calls it in its `stop`. */
  close(): Promise<void>;
}

interface Opened {
  /** Arguments with which the relay was opened, key included. */
  readonly made: string;
  readonly relay: Promise<LoopbackRelay>;
}

/** Creates the relays of one plugin; each opens on first use. */
export function createKeyRelays(): KeyRelays {
  const relays = new Map<string, Opened>();
  return {
    relayFor(vendor) {
      const { headers: _key, ...address } = vendor;
      const [slot, made] = [JSON.stringify(address), JSON.stringify(vendor)];
      const known = relays.get(slot);
      if (known?.made === made) return known.relay;
      known?.relay.then(
        (former) => former.retire(),
        () => undefined,
      );
      const opened = { made, relay: openLoopbackRelay(vendor) };
      relays.set(slot, opened);
      opened.relay.catch(() => {
        if (relays.get(slot) === opened) relays.delete(slot);
      });
      return opened.relay;
    },
    async close() {
      const open = [...relays.values()];
      relays.clear();
      await Promise.all(open.map(async ({ relay }) => (await relay.catch(() => undefined))?.close()));
    },
  };
}

/** The proxy on the way to `base`, by the variables that programs read; undefined when `NO_PROXY` spares that host. */
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
