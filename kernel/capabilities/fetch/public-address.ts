import { BlockList, isIP } from "node:net";

/** IPv4 blocks that are not the public internet (IANA special-purpose registry), and a cloud metadata service on a public address. */
const CLOSED_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

/**
 * Public IPv6 lies in 2000::/3; everything else is closed: `::/96` and mapped forms of IPv4, `64:ff9b::/96`, `fc00::/7`, `fe80::/10`,
 * `ff00::/8`. Within it these are not public either: protocol assignments with Teredo, documentation, 6to4.
 */
const OPEN_V6 = ["2000::", 3] as const;
const CLOSED_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

const closed = new BlockList();
for (const [network, prefix] of CLOSED_V4) closed.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of CLOSED_V6) closed.addSubnet(network, prefix, "ipv6");
const open = new BlockList();
open.addSubnet(...OPEN_V6, "ipv6");

/** Whether an IP address is on the public internet. False for anything that is no IP address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !closed.check(address, "ipv4");
  return version === 6 && open.check(address, "ipv6") && !closed.check(address, "ipv6");
}
