import { createLocalSecret } from "./local-secret.ts";
import type { SurfaceOptions } from "./surface.ts";

/** Accepted hosts and origins of this process's servers, and the proof required from callers on this machine. */
export interface Reach {
  /** Where the daemon listens, from its start on. */
  bind(): { readonly host: string; readonly port: number };
  /** Returns the options of a server bound to `host`. Evaluated for each request, so that a reload is effective at once. */
  served(host: () => string): Pick<SurfaceOptions, "hosts" | "trustedProxies" | "localProof">;
  /** Before a port is open. */
  open(): void;
  close(): void;
}

interface NodeSection {
  readonly bind?: string;
  readonly hosts?: readonly string[];
  readonly trustedProxies?: readonly string[];
  readonly localSecret?: boolean;
}

const BIND = "127.0.0.1:18800";
const NONE: readonly string[] = [];

/** Reads it from the section `node` of this moment; `folder` takes the file of the local secret. */
export function reachOf(config: () => Readonly<Record<string, unknown>>, folder: string): Reach {
  const node = () => config().node as NodeSection;
  const secret = createLocalSecret(folder);
  const wanted = node().localSecret === true;
  const { bind = BIND } = node();
  const colon = bind.lastIndexOf(":");
  const bound = { host: bind.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(bind.slice(colon + 1)) };
  return {
    bind: () => bound,
    served: (host) => ({
      hosts: () => [host(), ...(node().hosts ?? NONE)],
      trustedProxies: () => node().trustedProxies ?? NONE,
      ...(wanted ? { localProof: secret.proves } : {}),
    }),
    open() {
      secret.close();
      if (wanted) secret.open();
    },
    close: secret.close,
  };
}
