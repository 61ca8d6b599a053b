import { lstatSync, readFileSync, readlinkSync, realpathSync, rmdirSync, statSync, unlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findExecutable } from "./executable.ts";

/*
 * Two sandboxes of Linux namespaces, made by bubblewrap:
 *
 *   program sandbox  the engine: the system read-only, its workspace, its own folders; its only way out is a socket
 *     command sandbox  each command it starts: the same workspace, but no network, no variables, none of the engine's folders
 *
 * Nothing else of the machine is visible inside. Callers pass the program's words in `bwrap`'s arguments unchanged: no shell parses them.
 */

/** The part of the machine that an engine sees. All paths are absolute and real. */
export interface SandboxView {
  readonly workspace: string;
  /** Whether files in the workspace may be changed. */
  readonly writable: boolean;
  /** Further folders and files that may be read. */
  readonly readable: readonly string[];
}

/** The engine's own side of the sandbox. */
export interface ProgramSandbox extends SandboxView {
  /** Files and folders of the program. */
  readonly program: readonly string[];
  /** Folders that the program may write, at the same path inside. Its commands do not see them. */
  readonly own: readonly string[];
  /** The socket through which it reaches the vendor, and where it is inside. */
  readonly socket?: { readonly outside: string; readonly inside: string };
}

/** The sandbox of this user on this machine. */
export interface Bubblewrap {
  readonly bwrap: string;
  /** A sandbox within a sandbox may have a process table of its own. The kernel refuses it to root, whose commands get an empty `/proc`. */
  readonly ownProcesses: boolean;
}

/** The user inside. Root may not nest a sandbox as root. */
const INSIDE = ["--uid", "1000", "--gid", "1000"];
const SYSTEM_LINKS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const SYSTEM_FOLDERS = ["/usr", "/nix/store"];
/** System files that programs need for names, certificates, time zones and libraries. No passwords, no keys. */
const SYSTEM_FILES = [
  ...["passwd", "group", "nsswitch.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "os-release", "debian_version"],
  ...[
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
    "ca-certificates",
    "mime.types",
    "magic",
    "protocols",
    "services",
  ],
].map((name) => `/etc/${name}`);
/** Files of a workspace that decide what later runs may do: settings and hooks of git, and those of engines and of svc. */
const KEEPERS = {
  folders: [".git/hooks", ".git/info", ".git/modules", ".claude", ".codex", ".gemini", ".svc"],
  files: [".git/config", ".git/config.worktree", ".mcp.json", "svc.json"],
} as const;
/** File by which git takes its settings from elsewhere; no stub can take its place, so it is removed after the run. */
const REDIRECTION = ".git/commondir";

/** Programs of the system inside both sandboxes. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Bubblewrap's program on a search path. */
export const findBubblewrap = (searchPath: string): string | undefined => findExecutable("bwrap", searchPath);

/** Returns the arguments of bubblewrap for the engine; append the program and its arguments. */
export function programSandbox({ bwrap }: Bubblewrap, room: ProgramSandbox, env: Readonly<Record<string, string>>): string[] {
  const { socket } = room;
  return [
    bwrap,
    ...["--die-with-parent", "--new-session", "--unshare-all", "--unshare-user", ...INSIDE, "--cap-drop", "ALL", "--hostname", "localhost"],
    ...system(),
    ...["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"],
    ...room.program.flatMap((path) => ["--ro-bind", path, path]),
    ...["--ro-bind", bwrap, bwrap],
    ...inhabited(room),
    ...supervisors(room),
    ...room.own.flatMap((path) => ["--bind", path, path]),
    ...(socket === undefined ? [] : ["--ro-bind", socket.outside, socket.inside]),
    ...["--remount-ro", "/", "--chdir", room.workspace, "--clearenv"],
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    "--",
  ];
}

/**
 * One command of the engine as words, run inside the program sandbox. `text` is bash's, and is not read here. The environment is emptied before
 * bubblewrap starts: bubblewrap is process 1 of the sandbox, and its environment can be read in `/proc/1/environ`.
 */
export function commandSandbox({ bwrap, ownProcesses }: Bubblewrap, room: SandboxView, env: Readonly<Record<string, string>>, text: string): string[] {
  return [
    ...["/usr/bin/env", "-i", `PATH=${SYSTEM_PATH}`, bwrap],
    ...["--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL", "--hostname", "localhost"],
    ...system(),
    ...["--dev", "/dev", ...(ownProcesses ? ["--proc", "/proc"] : ["--tmpfs", "/proc"]), "--tmpfs", "/tmp"],
    // The supervisors are mounted below the workspace already, and come along; so would an engine's folder that lies there.
    ...inhabited(room),
    ...(isFolder(join(room.workspace, ".svc")) ? stub(join(room.workspace, ".svc")) : []),
    ...["--remount-ro", "/", "--chdir", room.workspace, "--clearenv"],
    ...Object.entries({ PATH: SYSTEM_PATH, HOME: "/tmp", TMPDIR: "/tmp", ...env }).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--", "/bin/bash", "--noprofile", "--norc", "-c", text],
  ];
}

/** Why a workspace that may be written cannot be sandboxed; undefined when it can. */
export function sandboxObstacle({ workspace, writable }: SandboxView): string | undefined {
  if (!writable) return undefined;
  const link = [".git", ...KEEPERS.folders, ...KEEPERS.files].find((name) => lstatSync(join(workspace, name), { throwIfNoEntry: false })?.isSymbolicLink());
  if (link !== undefined) return `${link} in the workspace is a link, which could be turned to elsewhere`;
  if (!isFile(join(workspace, ".git"))) return undefined;
  const folder = /^gitdir: (.*)$/m.exec(readFileSync(join(workspace, ".git"), "utf8"))?.[1];
  return folder === undefined || !`${resolve(workspace, folder)}/`.startsWith(`${workspace}/`)
    ? undefined
    : "the repository's own folder has another name than .git and would lie open to changes";
}

/** Words as one line for a shell, each in single quotes. */
export const shellQuoted = (words: readonly string[]): string => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");

/**
 * Removes the mount points that a run in a writable room left, if they are still empty, and a redirection of git's settings. Call it only when no run
 * uses the workspace: removing a mount point unmounts it. Returns the removed paths.
 */
export function removeMountPoints(workspace: string): string[] {
  const taken: string[] = [];
  for (const name of [...KEEPERS.files, ...KEEPERS.folders, ".git"]) {
    const path = join(workspace, name);
    try {
      const facts = lstatSync(path);
      if (facts.isDirectory()) rmdirSync(path);
      else if (facts.isFile() && facts.size === 0) unlinkSync(path);
    } catch {
      // Missing or not empty: it is not one of ours.
    }
  }
  const redirection = join(workspace, REDIRECTION);
  if (isFolder(join(workspace, ".git")) && exists(redirection)) {
    unlinkSync(redirection);
    taken.push(redirection);
  }
  return taken;
}

function system(): string[] {
  return [
    ...SYSTEM_FOLDERS.filter(exists).flatMap((path) => ["--ro-bind", path, path]),
    ...SYSTEM_LINKS.filter(exists).flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path).replace(/^\//, ""), path] : ["--ro-bind", path, path],
    ),
    // Some are links into hidden folders: mount their targets in their place.
    ...SYSTEM_FILES.filter(exists).flatMap((path) => ["--ro-bind", realpathSync(path), path]),
  ];
}

function inhabited({ workspace, writable, readable }: SandboxView): string[] {
  return [writable ? "--bind" : "--ro-bind", workspace, workspace, ...readable.filter(exists).flatMap((path) => ["--ro-bind", path, path])];
}

/**
 * Mounts over the files that decide about later runs: read-only where they exist, a stub where they do not. `.git` is mounted on itself, so that it
 * cannot be moved away and replaced by a copy. In a read-only room only svc's own files are covered.
 */
function supervisors({ workspace, writable }: SandboxView): string[] {
  const at = (name: string) => join(workspace, name);
  const secrets = [
    // The program's own folder may be put in there afterwards.
    ...(isFolder(at(".svc")) ? ["--tmpfs", at(".svc")] : []),
    ...(isFile(at("svc.json")) ? ["--ro-bind", "/dev/null", at("svc.json")] : []),
  ];
  if (!writable) return secrets;
  const git = isFolder(at(".git")) ? ["--bind", at(".git"), at(".git")] : isFile(at(".git")) ? ["--ro-bind", at(".git"), at(".git")] : stub(at(".git"));
  const inGit = (name: string) => name.startsWith(".git/") && !isFolder(at(".git"));
  return [
    ...git,
    ...KEEPERS.folders.filter((name) => !inGit(name)).flatMap((name) => (exists(at(name)) ? ["--ro-bind", at(name), at(name)] : stub(at(name)))),
    // An empty folder stands for a missing file: git adds no entry, and stops at a device.
    ...KEEPERS.files
      .filter((name) => !inGit(name))
      .flatMap((name) =>
        exists(at(name)) ? ["--ro-bind", at(name), at(name)] : name.startsWith(".git/") ? ["--ro-bind", "/dev/null", at(name)] : stub(at(name)),
      ),
    ...secrets,
  ];
}

const stub = (path: string): string[] => ["--tmpfs", path, "--remount-ro", path];

/** The engine's parent behind the sandbox, which passes its requests on to the relay's socket: `node <script> <socket> <port> <program> ..`. */
export const relayLauncher = (): { readonly script: string; readonly files: readonly string[] } => ({
  script: fileURLToPath(new URL("./relay-child.js", import.meta.url)),
  files: [new URL("./relay-child.js", import.meta.url), new URL("../../package.json", import.meta.url)].map((url) => fileURLToPath(url)),
});

/** The folder to show so that an installed program is whole: its package, or the file alone. */
export function packageFilesOf(program: string): string[] {
  const real = realpathSync(program);
  const inPackage = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(real)?.[1];
  return [inPackage ?? real];
}

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined && statSync(path, { throwIfNoEntry: false }) !== undefined;
const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
