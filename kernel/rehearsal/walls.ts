import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { emptyNetwork, findBubblewrap } from "../isolation/confinement.ts";

/** Start command of a rehearsal's process, and its walls. */
export interface Walls {
  readonly command: string;
  readonly args: readonly string[];
  /** For people: `permission`, `bubblewrap`, `no network`. */
  readonly names: readonly string[];
}

/**
 * Returns a command for Node that starts no program and writes below `scratch` alone, as far as its own permissions reach. With bubblewrap on the
 * path the system is read-only for everything that runs there, native code too, the files of the real store are empty, and there is no network.
 */
export async function wallsOf(
  program: string,
  given: { readonly scratch: string; readonly dataFolder: string; readonly storeFiles: readonly string[] },
): Promise<Walls> {
  const { scratch, dataFolder, storeFiles } = given;
  const path = process.env.PATH ?? "";
  const bwrap = process.platform === "linux" ? await findBubblewrap(path.split(delimiter).filter(Boolean).join(delimiter)) : undefined;
  const flag = ["--permission", "--experimental-permission"].find((name) => process.allowedNodeEnvironmentFlags.has(name));
  const node = [
    process.execPath,
    ...(flag === undefined ? [] : [flag, "--allow-fs-read=*", `--allow-fs-write=${scratch}/*`, "--allow-worker", ...optional("--allow-addons")]),
    ...(flag === undefined ? [] : optional("--disable-warning", "=ExperimentalWarning", "=SecurityWarning")),
    program,
  ];
  const names = flag === undefined ? [] : ["permission"];
  if (bwrap === undefined) return { command: process.execPath, args: node.slice(1), names };
  const hidden = storeFiles.map((file) => join(dataFolder, file)).filter((file) => existsSync(file));
  const inside = [
    bwrap,
    ...["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    // A bot's folder in memory is read like any other.
    ...["--ro-bind-try", "/dev/shm", "/dev/shm", "--bind", scratch, scratch],
    ...hidden.flatMap((file) => ["--ro-bind", "/dev/null", file]),
    "--",
    ...node,
  ];
  const emptied = await emptyNetwork(path, bwrap);
  const [command = "", ...args] = emptied === undefined ? inside : emptied(inside);
  return { command, args, names: [...names, "bubblewrap", ...(emptied === undefined ? [] : ["no network"])] };
}

const optional = (flag: string, ...values: readonly string[]): string[] => {
  if (!process.allowedNodeEnvironmentFlags.has(flag)) return [];
  return values.length === 0 ? [flag] : values.map((value) => flag + value);
};
