import { lchownSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, and those above it, with `mode`. Made by root, they belong to whom the folder belongs that they are made in: the daemon may run as that user.
 * Root that may not do this, as in some containers, keeps them. Returns whether there was anything to make.
 */
export function makeFolder(path: string, mode = 0o777): boolean {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined) return false;
  if (process.getuid?.() !== 0) return true;
  const { uid, gid } = statSync(dirname(first));
  if (uid === 0 && gid === 0) return true;
  try {
    for (let made = path; made.length >= first.length; made = dirname(made)) lchownSync(made, uid, gid);
  } catch {
    // No right to, or a user that this container does not know.
  }
  return true;
}
