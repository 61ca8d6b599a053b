import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

/** Places in a workspace that decide what later runs may do: the guard would be got round through them. */
const KEEPERS = [".git", ".claude", ".mcp.json", ".svc", "svc.json"];

const SINKS = ["/dev/null", "/dev/stdout", "/dev/stderr"];

/** Why a restricted run may not write there; undefined when it may. Links are followed first, `..` and links to nowhere too. */
export async function refuseWrite(path: string, workspace: string, folder: string = workspace): Promise<string | undefined> {
  if (SINKS.includes(path)) return undefined;
  const [home, target] = await Promise.all([follow(workspace), follow(resolve(folder, path))]);
  const inside = relative(home, target);
  if (inside === ".." || inside.startsWith(`..${sep}`) || resolve(inside) === inside) return `${path} is outside the workspace`;
  const keeper = inside.split(sep).find((part) => KEEPERS.includes(part.toLowerCase()));
  return keeper === undefined ? undefined : `${path} is part of ${keeper}, which decides what later runs may do`;
}

/** The real path of what exists, and the rest as it is named. */
async function follow(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await refuseDangling(path);
    return join(await follow(dirname(path)), basename(path));
  }
}

/** A link that leads to nothing yet would be followed by whoever writes. */
async function refuseDangling(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts?.isSymbolicLink()) throw new Error(`${path} is a link that leads nowhere`);
}
