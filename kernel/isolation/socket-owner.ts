import { readdirSync, readlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { endianness } from "node:os";
import { codeOf } from "@svc/sdk";
import { canonicalAddress } from "../base/client-address.ts";
import { membersOf, type Tree } from "../capabilities/processes/process-tree.ts";

/** Whether the far end of a connection of this machine belongs to one of these trees; true also for one that is closed already. */
export async function isHeldBy(socket: Socket, trees: readonly Tree[]): Promise<boolean> {
  return (await holderOf(socket, trees)) !== undefined;
}

/** Finds the tree that owns the far end of a local connection; `closed` if the far end no longer exists, `undefined` for any other. */
export async function holderOf<T extends Tree>(socket: Socket, trees: readonly T[]): Promise<T | "closed" | undefined> {
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "latin1").catch(() => undefined)));
  if (tables.every((table) => table === undefined)) return undefined;
  const inode = inodeOf(socket, tables.join("\n"));
  if (inode === undefined || inode === "0") return "closed";
  const link = `socket:[${inode}]`;
  for (const [tree, members] of await membersOf(trees)) if (members.some(({ pid }) => holds(pid, link))) return tree;
  return undefined;
}

/** The socket at the other end, by the kernel's table of connections: there, ours is the remote one. */
function inodeOf({ remoteAddress, remotePort, localAddress, localPort }: Socket, table: string): string | undefined {
  const theirs = place(remoteAddress, remotePort);
  const ours = place(localAddress, localPort);
  for (const line of table.split("\n")) {
    const [, local = "", remote = "", , , , , , , inode] = line.trim().split(/\s+/);
    if (isPlace(local, theirs) && isPlace(remote, ours)) return inode;
  }
  return undefined;
}

const place = (address = "", port = 0): string => `${canonicalAddress(address)} ${port}`;

function isPlace(entry: string, wanted: string): boolean {
  const [hex = "", port = ""] = entry.split(":");
  if (!/^[0-9A-F]{8}(?:[0-9A-F]{24})?$/.test(hex) || !wanted.endsWith(` ${Number.parseInt(port, 16)}`)) return false;
  return wanted === place(addressOf(hex), Number.parseInt(port, 16));
}

/** The table holds 32-bit words as this machine has them in memory. */
function addressOf(hex: string): string {
  const words = Buffer.from(hex, "hex");
  if (endianness() === "LE") words.swap32();
  if (words.length === 4) return words.join(".");
  if (words.subarray(0, 10).every((byte) => byte === 0) && words.readUInt16BE(10) === 0xffff) return words.subarray(12).join(".");
  const parts = Array.from({ length: 8 }, (_, at) => words.readUInt16BE(2 * at).toString(16));
  // In the spelling that sockets use.
  return new URL(`http://[${parts.join(":")}]/`).hostname.slice(1, -1);
}

/** A process of the tree whose descriptors cannot be read counts as the holder; one that has ended does not. */
function holds(pid: number, link: string): boolean {
  let files: string[];
  try {
    files = readdirSync(`/proc/${pid}/fd`);
  } catch (error) {
    return codeOf(error) !== "ENOENT" && codeOf(error) !== "ESRCH";
  }
  return files.some((file) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${file}`) === link;
    } catch {
      return false;
    }
  });
}
