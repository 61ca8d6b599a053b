import { dirname } from "node:path";
import { fail } from "./errors.ts";

const OWNER = "run svc as the user it belongs to, or make it that user's with chown";

/** File system error codes, each with a message that a person can act on. */
const FILES: Readonly<Record<string, readonly [reason: string, next: string]>> = {
  EACCES: ["this user may not write there", OWNER],
  EPERM: ["this user may not change it", OWNER],
  EROFS: ["it lies on a file system that is read-only", "use a folder that can be written"],
  ENOSPC: ["the disk is full", "free some room"],
  EDQUOT: ["the disk quota of this user is used up", "free some room"],
  EBUSY: ["it is a mount, or in use, and cannot be replaced", "mount its folder in place of it"],
  EEXIST: ["something else has that name", "move it away"],
  ENOTDIR: ["a part of that path is a file, not a folder", "move it away"],
  EISDIR: ["it is a folder, not a file", "move it away"],
};

/** A file system error with the next step in its message; any other error unchanged. */
export function explainFiles(error: unknown): unknown {
  const { code = "", path, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  const [reason, next] = FILES[code] ?? [];
  if (reason === undefined || path === undefined || syscall === undefined) return error;
  // A file that cannot be created: its folder is to blame.
  const file = code === "EACCES" || code === "EROFS" ? dirname(path) : path;
  return fail("SVC_CLI_FILE", { file, reason, next });
}
