import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { canonicalAddress, type Peer } from "../base/client-address.ts";

/** Full names of headers that proxies, load balancers and CDNs add to forwarded requests. */
const NAMES: ReadonlySet<string> = new Set([
  "ali-cdn-real-ip",
  "cdn-loop",
  "cdn-src-ip",
  "client-ip",
  "do-connecting-ip",
  "forwarded",
  "forwarded-for",
  "front-end-https",
  "incap-client-ip",
  "proxy-client-ip",
  "remote-addr",
  "remote-ip",
  "true-client-ip",
  "via",
  "wl-proxy-client-ip",
  "x-arr-log-id",
  "x-arr-ssl",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-coming-from",
  "x-connecting-ip",
  "x-forwarded",
  "x-host",
  "x-http-host-override",
  "x-nginx-proxy",
  "x-originating-ip",
  "x-real-ip",
  "x-real-port",
  "x-remote-addr",
  "x-remote-ip",
  "x-sucuri-clientip",
  "x-true-client-ip",
  "x-url-scheme",
  "x-varnish",
  "x-via",
]);
/** Families of them, by how their names begin. */
const FAMILIES =
  /^(?:x-forwarded-|x-original-|x-proxy|x-envoy-|x-appengine-|x-azure-|x-amz-cf-|x-amzn-trace|x-akamai-|akamai-|cf-|cloudfront-|fastly-|fly-|tailscale-|x-vercel-|x-ms-forwarded-)/;

/**
 * Whether a proxy has forwarded the request, so that this machine did not send it. Header values are never read. HTTP/1.0 is the default of proxies
 * such as nginx, and no current client sends it.
 */
export function isForwarded({ headers, httpVersion }: Pick<IncomingMessage, "headers" | "httpVersion">): boolean {
  if (httpVersion === "1.0") return true;
  for (const name in headers) if (NAMES.has(name) || FAMILIES.test(name)) return true;
  return false;
}

/** Proxies whose word about their client counts. */
export interface TrustedProxies {
  /** The client of a request that `proxy` has passed on; `proxy` itself, as a stranger, where it is not trusted or does not say. Never this machine. */
  clientOf(proxy: Peer, headers: IncomingHttpHeaders): Peer;
}

/** Addresses and networks, such as `127.0.0.1` and `10.0.0.0/8`; each was checked with the configuration. */
export function createTrustedProxies(networks: readonly string[]): TrustedProxies {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const plain = canonicalAddress(address);
    const family = isIP(plain) === 6 ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(plain, family);
    else list.addSubnet(plain, Number(bits), family);
  }
  const trusts = (address: string) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  return {
    clientOf(proxy, headers) {
      let { address } = proxy;
      const hops = trusts(address) ? hopsOf(headers) : [];
      // From the nearest hop outwards: everything left of the first untrusted hop may be forged.
      for (let at = hops.length - 1; at >= 0 && trusts(address); at -= 1) {
        const hop = hops[at] as string;
        if (isIP(hop) === 0) break;
        address = hop;
      }
      return { address, loopback: address === proxy.address && proxy.loopback, own: false };
    },
  };
}

/** The addresses that proxies have written down, nearest last. `Forwarded` is read where there is no `X-Forwarded-For`. */
function hopsOf(headers: IncomingHttpHeaders): string[] {
  const { "x-forwarded-for": usual, forwarded } = headers;
  const text = Array.isArray(usual) ? usual.join(",") : usual;
  if (text !== undefined) return text.split(",").map(addressOf);
  return (forwarded ?? "").split(",").map((element) => addressOf(/(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]*)/i.exec(element)?.[1]?.replaceAll('"', "") ?? ""));
}

/** Returns the address of `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80` and `2001:db8::1`. */
function addressOf(entry: string): string {
  const text = entry.trim();
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1];
  const ported = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1];
  return canonicalAddress(bracketed ?? ported ?? text);
}
