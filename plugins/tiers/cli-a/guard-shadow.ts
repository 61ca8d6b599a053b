import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gitEnvironment } from "./guard-git.ts";

/*
 * A repository beside the workspace's own, for where there is no wall: git reads `HEAD`, index, objects and names of the real one, but
 * settings of ours. Whatever the workspace's settings say, watchers, filters, converters, hooks, aliases, is not read at all, and a
 * repository within the workspace does not count, since git is told where its own is.
 */

/** Where git finds things, as variables. */
export interface Shadow {
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the workspace's own repository. */
  readonly real: string;
}

/** Parts shared with the real repository. git refuses `HEAD` as a link, and would write through the index as a link. */
const SHARED = ["objects", "refs", "packed-refs", "logs", "shallow"];

/**
 * Makes the shadow in `folder`, which must not be there yet. With `writing` changes of the index go to the real one. Undefined where
 * the workspace has no repository that lies in it or in `readable`.
 */
export function makeShadow(workspace: string, folder: string, readable: readonly string[], writing: boolean): Shadow | undefined {
  const own = repositoryOf(workspace);
  if (own === undefined) return undefined;
  const common = commonOf(own);
  const within = (path: string) => [workspace, ...readable].some((root) => `${path}/`.startsWith(`${root}/`));
  if (!within(own) || !within(common)) return undefined;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of SHARED) if (existsSync(join(common, name))) symlinkSync(join(common, name), join(folder, name));
  copyFileSync(join(own, "HEAD"), join(folder, "HEAD"));
  if (!writing && existsSync(join(own, "index"))) copyFileSync(join(own, "index"), join(folder, "index"));
  writeFileSync(join(folder, "config"), settingsOf(join(common, "config")));
  return {
    real: own,
    env: { GIT_DIR: folder, GIT_WORK_TREE: workspace, ...(writing ? { GIT_INDEX_FILE: join(own, "index") } : {}) },
  };
}

/** Are repositories within this one among its entries? For those git starts itself anew, without our settings, where it looks for changes. */
export function hasNested({ env }: Shadow): boolean {
  const listed = execFileSync("git", ["ls-files", "--stage"], {
    env: { PATH: process.env.PATH, ...gitEnvironment(), ...env },
    encoding: "utf8",
    maxBuffer: 1 << 28,
    timeout: 3000,
  });
  return /^160000 /m.test(listed);
}

function repositoryOf(workspace: string): string | undefined {
  const place = join(workspace, ".git");
  const facts = lstatSync(place, { throwIfNoEntry: false });
  if (facts === undefined) return undefined;
  const folder = facts.isFile() ? /^gitdir: (.*)$/m.exec(readFileSync(place, "utf8"))?.[1] : ".git";
  if (folder === undefined || !existsSync(join(resolve(workspace, folder), "HEAD"))) return undefined;
  return realpathSync(resolve(workspace, folder));
}

function commonOf(own: string): string {
  const file = join(own, "commondir");
  return existsSync(file) ? realpathSync(resolve(own, readFileSync(file, "utf8").trim())) : own;
}

/** Our settings, and of the real ones, as data: the format of objects, who commits, and where the remotes are. */
function settingsOf(file: string): string {
  const lines = ["[core]", "repositoryformatversion = 1", "bare = false", "logallrefupdates = true"];
  let section = "";
  for (const line of existsSync(file) ? readFileSync(file, "utf8").split("\n") : []) {
    const head = /^\s*\[([A-Za-z]+)(?:\s+"([\w./-]+)")?\]\s*$/.exec(line);
    if (/^\s*\[/.test(line)) section = head === null ? "" : `${(head[1] as string).toLowerCase()} ${head[2] ?? ""}`.trim();
    const [, key = "", value = ""] = /^\s*([A-Za-z]+)\s*=\s*([\w :./@+*<>-]{1,300})\s*$/.exec(line) ?? [];
    const name = key.toLowerCase();
    if (value.includes("::")) continue;
    const [kind, which] = section.split(" ");
    if (section === "extensions" && name === "objectformat") lines.push("[extensions]", `objectformat = ${value}`);
    else if (section === "user" && (name === "name" || name === "email")) lines.push("[user]", `${name} = ${value}`);
    else if (which !== undefined && kind === "remote" && (name === "url" || name === "fetch")) lines.push(`[remote "${which}"]`, `${name} = ${value}`);
    else if (which !== undefined && kind === "branch" && (name === "remote" || name === "merge")) lines.push(`[branch "${which}"]`, `${name} = ${value}`);
  }
  return `${lines.join("\n")}\n`;
}
