import { execFile } from "node:child_process";
import { existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Source } from "../sources/source.ts";

/** Start command of an isolated plugin's process, and its walls. */
export interface Confinement {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** For people: `scrubbed environment`, `permission`, `bubblewrap`, `no network`. */
  readonly walls: readonly string[];
}

/** The walls of a plugin, with and without a network of its own. */
export interface Confinements {
  readonly closed: Confinement;
  /** For one that declares `network`. */
  readonly open: Confinement;
}

/** The program of the process. */
const PROGRAM = fileURLToPath(new URL("./child-main.js", import.meta.url));
/** Folders with people's private files; a plugin's own files below one are mounted again. */
const PRIVATE = ["/home", "/root", "/mnt", "/media", "/srv", "/var/tmp", "/run"];

/**
 * Starts Node with a capped heap and, where this version has it, the permission model: it may read the plugin's own files and its packages, but not
 * write files, start processes or load native code. With bubblewrap on `path` also: a read-only system without private files, a `/tmp` and a process
 * table of its own, and death with the daemon. `hidden` are folders that it must not see, such as the data folder. Where bubblewrap or `unshare` may
 * do that, it is in an empty network unless it declares one. `program` runs there in place of an isolated plugin's own.
 */
export async function confine(
  source: Source,
  options: { readonly heapMb: number; readonly path: string; readonly hidden: readonly string[]; readonly program?: string },
): Promise<Confinements> {
  const readable = readableBy(source);
  const bwrap = await findBubblewrap(options.path);
  const permission = ["--permission", "--experimental-permission"].find((flag) => process.allowedNodeEnvironmentFlags.has(flag));
  const cwd = dirname(source.entry as string);
  const walls = ["scrubbed environment", ...(permission === undefined ? [] : ["permission"]), ...(bwrap === undefined ? [] : ["bubblewrap"])];
  const emptied = await emptyNetwork(options.path, bwrap);

  function confined(network: boolean): Confinement {
    const own = permission === undefined ? [] : permissions(permission, readable, bwrap !== undefined, network);
    const node = [process.execPath, `--max-old-space-size=${options.heapMb}`, ...own, options.program ?? PROGRAM];
    const inside = bwrap === undefined ? node : [bwrap, ...walled(readable, options.hidden), "--chdir", cwd, "--", ...node];
    const [command = "", ...args] = network || emptied === undefined ? inside : emptied(inside);
    return { command, args, cwd, walls: network || emptied === undefined ? walls : [...walls, "no network"] };
  }
  return { closed: confined(false), open: confined(true) };
}

/** bubblewrap on `path`, where this user may have it make rooms for processes. */
export const findBubblewrap = (path: string): Promise<string | undefined> => findWorking(path, "bwrap", BWRAP_TRIAL);

/** Puts a command into a network without anything in it; undefined where that cannot be done. */
export async function emptyNetwork(path: string, bwrap: string | undefined): Promise<((command: readonly string[]) => readonly string[]) | undefined> {
  if (bwrap !== undefined && (await findWorking(path, "bwrap", ["--unshare-net", ...BWRAP_TRIAL])) !== undefined)
    return ([program = "", ...rest]) => [program, "--unshare-net", ...rest];
  for (const how of [["--net"], ["--user", "--map-current-user", "--net"]]) {
    const unshare = await findWorking(path, "unshare", [...how, "--", process.execPath, "--version"]);
    if (unshare !== undefined) return (command) => [unshare, ...how, "--", ...command];
  }
  return undefined;
}

function permissions(flag: string, readable: readonly string[], ownTmp: boolean, network: boolean): string[] {
  const has = (name: string) => process.allowedNodeEnvironmentFlags.has(name);
  return [
    flag,
    // A folder beside the same folder with a star makes Node 20 abort.
    ...readable.map((path) => `--allow-fs-read=${isFolder(path) ? `${path}/*` : path}`),
    ...(ownTmp ? ["--allow-fs-read=/tmp/*", "--allow-fs-write=/tmp/*"] : []),
    // Versions with this flag deny network access without it.
    ...(network && has("--allow-net") ? ["--allow-net"] : []),
    ...(has("--disable-warning") ? ["--disable-warning=ExperimentalWarning", "--disable-warning=SecurityWarning"] : []),
  ];
}

function walled(readable: readonly string[], hidden: readonly string[]): string[] {
  // The root folder itself cannot be hidden.
  const away = [...PRIVATE, ...hidden.filter((folder) => dirname(folder) !== folder)].filter(isFolder);
  const node = dirname(dirname(realpathSync(process.execPath)));
  const seen = [...readable, ...(node === "/usr" || node === "/" ? [] : [node])];
  return [
    ...["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"],
    ...away.flatMap((folder) => ["--tmpfs", folder]),
    // The resolver configuration may be a link into /run.
    ...(existsSync("/run/systemd/resolve") ? ["--ro-bind", "/run/systemd/resolve", "/run/systemd/resolve"] : []),
    ...seen.flatMap((path) => ["--ro-bind", path, path]),
  ];
}

/**
 * The plugin's package or file and the folders of packages above it, with what links in those lead to; this program, the sdk, and the
 * packages above them. None lies in another.
 */
function readableBy({ folder, entry }: Source): string[] {
  const own = folder ?? (entry as string);
  const kernel = dirname(dirname(dirname(PROGRAM)));
  const sdk = dirname(dirname(createRequire(import.meta.url).resolve("@svc/sdk")));
  const packages = [...modulesAbove(own), ...modulesAbove(dirname(realpathSync(own))), ...modulesAbove(kernel)];
  // An installation of links, as some package managers make it: the packages of a package lie beside where its link leads to.
  const links = packages.flatMap(linked);
  const all = [own, ...packages, ...links, ...links.flatMap((path) => modulesAbove(dirname(path))), kernel, sdk].flatMap((path) => [path, realpathSync(path)]);
  return [...new Set(all)].filter((path, _at, paths) => !paths.some((other) => path.startsWith(`${other}/`)));
}

function modulesAbove(folder: string): string[] {
  const here = join(folder, "node_modules");
  const above = folder === dirname(folder) ? [] : modulesAbove(dirname(folder));
  return isFolder(here) ? [here, ...above] : above;
}

/** Returns the targets of the links in a folder of packages. */
function linked(modules: string): string[] {
  return readdirSync(modules, { withFileTypes: true }).flatMap((entry) => {
    const path = join(modules, entry.name);
    if (entry.isSymbolicLink()) return existsSync(path) ? [realpathSync(path)] : [];
    return entry.isDirectory() && entry.name.startsWith("@") ? linked(path) : [];
  });
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Trial run that shows whether bubblewrap works here with these options. */
const BWRAP_TRIAL = ["--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", process.execPath, "--version"];
const tried = new Map<string, Promise<boolean>>();

/** Returns the program of that name on `path`, if a trial run with `args` works for this user. */
async function findWorking(path: string, name: string, args: readonly string[]): Promise<string | undefined> {
  const found = path
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => file.startsWith("/") && existsSync(file));
  if (found === undefined) return undefined;
  const key = JSON.stringify([found, args]);
  const works =
    tried.get(key) ??
    new Promise<boolean>((resolve) => {
      execFile(found, args, { timeout: 10_000 }, (error) => resolve(error === null));
    });
  tried.set(key, works);
  return (await works) ? found : undefined;
}
