import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import type { ProvidedFiles } from "@svc/sdk";

/** A folder of which files are served, and the one that it must lie in: the package of its plugin, where it has one. */
export interface FileRoot {
  readonly folder: string;
  readonly within?: string;
}

/** A folder whose files are served, with the caching rule of its copies. */
export interface ServedFolder extends FileRoot {
  /** The header `cache-control` of each. */
  readonly cacheControl: string;
}

/** The folder of a plugin that its files are served from, or why it cannot be that. */
export function fileRoot({ folder }: Pick<ProvidedFiles, "folder">, home: string | undefined): FileRoot | { readonly wrong: string } {
  if (home === undefined) return isAbsolute(folder) ? { folder } : { wrong: `its folder '${folder}' must be absolute, for its plugin has no package` };
  const full = resolve(home, folder);
  // A plugin that names its folder by where its code lies names the real one, also where its package is linked.
  const way = relative(realOf(home), realOf(full));
  if (isAbsolute(way) || way === "" || way === ".." || way.startsWith("../"))
    return { wrong: `its folder '${folder}' must lie below the folder of its package` };
  return { folder: full, within: home };
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
