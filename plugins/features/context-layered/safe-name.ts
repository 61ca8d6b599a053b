import { createHash } from "node:crypto";

const LONGEST = 80;

/**
 * An id as the name of a file or folder: two different ids never share one, on a file system that does not tell upper from lower
 * case either, and none is hidden, empty or leads elsewhere (CTX-05).
 */
export function safeName(id: string): string {
  const name = id.replace(/[^a-z0-9-]/gu, (character) => [...Buffer.from(character)].map((byte) => `=${byte.toString(16).padStart(2, "0")}`).join("")) || "=";
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 18)}=${createHash("sha256").update(id).digest("hex").slice(0, 16)}`;
}
