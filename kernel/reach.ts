/** How others reach the servers of this process. Asked for each request, so that a reload counts at once. */
export interface Reach {
  /** Where the daemon listens. */
  bind(): { readonly host: string; readonly port: number };
  /** Names by which the servers are reached, beside loopback and what each is bound to. */
  hosts(): readonly string[];
  /** Addresses and networks of proxies whose word about their client counts. */
  trustedProxies(): readonly string[];
}

interface NodeSection {
  readonly bind?: string;
  readonly hosts?: readonly string[];
  readonly trustedProxies?: readonly string[];
}

const BIND = "127.0.0.1:18800";
const NONE: readonly string[] = [];

/** Reads it from the section `node` of this moment. */
export function reachOf(config: () => Readonly<Record<string, unknown>>): Reach {
  const node = () => config().node as NodeSection;
  return {
    bind() {
      const { bind = BIND } = node();
      const at = bind.lastIndexOf(":");
      return { host: bind.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(bind.slice(at + 1)) };
    },
    hosts: () => node().hosts ?? NONE,
    trustedProxies: () => node().trustedProxies ?? NONE,
  };
}
