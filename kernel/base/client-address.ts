import { BlockList, isIP, isIPv4, isIPv6, type Socket } from "node:net";
import { networkInterfaces } from "node:os";

/** The remote end of a connection, as the socket alone reports it. */
export interface Peer {
  /** In one form for every spelling: `::ffff:192.0.2.1` is `192.0.2.1`, lower case, without a zone. */
  readonly address: string;
  /** 127.0.0.0/8, ::1 and their mapped forms. */
  readonly loopback: boolean;
  /** Loopback, or one of this machine's own addresses. */
  readonly own: boolean;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

const peers = new WeakMap<Socket, Peer>();

/** Returns the peer of a connection. Cached per connection: the address of an open one cannot change. */
export function peerOf(socket: Socket): Peer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const address = canonicalAddress(socket.remoteAddress ?? "");
  const loopback = isLoopback(address);
  const peer = { address, loopback, own: loopback || isOwn(address) };
  peers.set(socket, peer);
  return peer;
}

/** Normalises the spelling of an address: `0:0:0:0:0:FFFF:7f00:1` is `127.0.0.1`. Any other text is returned in lower case. */
export function canonicalAddress(address: string): string {
  const bare = (address.includes("%") ? address.slice(0, address.indexOf("%")) : address).toLowerCase();
  if (!isIPv6(bare)) return bare;
  const shortest = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(shortest);
  if (mapped === null) return shortest;
  return mapped
    .slice(1)
    .map((half) => Number.parseInt(half, 16))
    .flatMap((half) => [half >> 8, half & 0xff])
    .join(".");
}

function isLoopback(address: string): boolean {
  if (isIPv4(address)) return LOOPBACK.check(address, "ipv4");
  return isIPv6(address) && LOOPBACK.check(address, "ipv6");
}

/** An address by which a program on this machine reaches this machine. */
export function isThisMachine(address: string): boolean {
  const plain = canonicalAddress(address);
  return plain === "::" || (isIPv4(plain) && plain.startsWith("0.")) || isLoopback(plain) || isOwn(plain);
}

function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((cards) => cards?.some((card) => canonicalAddress(card.address) === address));
}

/** An address, or one with the length of a network behind a slash. */
export function isNetwork(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || address.includes("%") || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
}
