import { lchownSync, mkdirSync, rmdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, and those above it, with `mode`. Made by root, they belong to whom the folder belongs that they are made in: the daemon may run as that user.
 * Root that may not do this, as in some containers, keeps them. Returns the topmost that was made; undefined where all were there.
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined || process.getuid?.() !== 0) return first;
  const { uid, gid } = statSync(dirname(first));
  if (uid === 0 && gid === 0) return first;
  try {
    for (let made = path; made.length >= first.length; made = dirname(made)) lchownSync(made, uid, gid);
  } catch {
    // No right to, or a user that this container does not know.
  }
  return first;
}

/** Removes what `makeFolder` made, from `first` on, as far as it is still empty. */
export function unmakeFolder(path: string, first: string): void {
  try {
    for (let made = path; made.length >= first.length; made = dirname(made)) rmdirSync(made);
  } catch {
    // Something lies in it meanwhile.
  }
}
