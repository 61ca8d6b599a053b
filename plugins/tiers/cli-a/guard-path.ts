import { lstatSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";

/** Places in a workspace that decide what later runs may do: the guard would be got round through them. */
const KEEPERS = [".git", ".claude", ".codex", ".gemini", ".mcp.json", ".svc", "svc.json"];

const SINKS = ["/dev/null", "/dev/stdout", "/dev/stderr"];

/** Why a restricted run may not write there; undefined when it may. Links are followed first, `..` behind a link and links to nowhere too. */
export function refuseWrite(path: string, workspace: string, folder: string = workspace): string | undefined {
  if (path === "" || path.includes("\0")) return "no file is named";
  if (SINKS.includes(path)) return undefined;
  const target = follow(path, folder);
  const inside = relative(realpathSync.native(workspace), target);
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return `${path.slice(0, 200)} is outside the workspace`;
  const supervisor = inside.split(sep).find((part) => KEEPERS.includes(part.toLowerCase()));
  return supervisor === undefined ? undefined : `${path.slice(0, 200)} is part of ${supervisor}, which decides what later runs may do`;
}

/** Where a path leads to, step by step as the kernel goes: the real path of what exists, and the rest as it is named. Throws at a link to nowhere. */
export function follow(path: string, folder: string): string {
  let at = isAbsolute(path) ? sep : realpathSync.native(folder);
  for (const part of path.split(sep)) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, part);
    const facts = lstatSync(next, { throwIfNoEntry: false });
    if (facts?.isSymbolicLink()) {
      try {
        at = realpathSync.native(next);
      } catch {
        throw new Error(`${path.slice(0, 200)} leads through a link to nowhere`);
      }
    } else at = next;
  }
  return at;
}
