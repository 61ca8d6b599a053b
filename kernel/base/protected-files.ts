import { realpathSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Where the files lie that only the daemon and its operator may touch. */
export interface ProtectedDeps {
  /** The configuration file; absent for a configuration passed in code. */
  readonly configFile?: string;
  /** The daemon's folder, with `.env`; relative roots start here. */
  readonly folder: string;
  readonly dataFolder: string;
}

/** The files that only the daemon and its operator may touch, whatever roots a plugin or an action is given. */
export interface Protected {
  /** Whether this real path, existing or not, is one of them or below one. */
  holds(path: string): boolean;
  /** Whether this open file is one of them under another name. */
  isOne(file: { readonly dev: number; readonly ino: number }): Promise<boolean>;
}

/** Folder with the secrets in a backup of `svc backup`, wherever it was put and under any name. */
const BACKUP = /(?:^|\/)svc-backup-secrets(?:\/|$)/;

/** Files below it reveal the state of a process: its environment, its memory, its open files. */
const PROCESSES = "/proc";

/**
 * The configuration, `.env` and the data folder except `own` in it, with the copies of each that `svc restore` keeps beside it, and backups of `svc
 * backup`. Compares real paths, case-insensitively: some file systems are. Reads the disk once, to resolve links.
 */
export function protectedFiles({ configFile, folder, dataFolder }: ProtectedDeps, own?: string): Protected {
  const named = [join(folder, ".env"), ...(configFile === undefined ? [] : [configFile])];
  const families = named.flatMap(familyOf);
  const kept = new RegExp(`^${escaped(fold(realOf(dataFolder)))}\\.(?:before-restore-|restoring(?:/|$))`);
  const closed = [realOf(dataFolder), PROCESSES].map(fold);
  const open = own === undefined ? undefined : fold(realOf(own));
  return {
    holds(path) {
      const folded = fold(path);
      if (closed.some((one) => isBelow(folded, one))) return open === undefined || !isBelow(folded, open);
      if (kept.test(folded) || BACKUP.test(folded)) return true;
      const [at, name] = [dirname(folded), basename(folded)];
      return families.some((family) => family.folder === at && family.names.test(name));
    },
    async isOne({ dev, ino }) {
      const found = await Promise.all(named.map((file) => stat(file).catch(() => undefined)));
      return found.some((one) => one !== undefined && one.dev === dev && one.ino === ino);
    },
  };
}

interface Family {
  readonly folder: string;
  readonly names: RegExp;
}

/** A file with its backups, copies of editors, locks and temporary files, where it is named and where a link of that name leads. */
function familyOf(file: string): Family[] {
  const named = join(realOf(dirname(resolve(file))), basename(file));
  return [...new Set([named, realOf(named)])].map((path) => ({
    folder: fold(dirname(path)),
    names: new RegExp(`^[.#~]*${escaped(fold(basename(path)))}(?![\\p{L}\\p{N}])`, "u"),
  }));
}

/** Returns the real path of a file that may not exist yet. */
export function realOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realOf(parent), basename(path));
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

const fold = (path: string): string => path.normalize("NFC").toLowerCase();

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
