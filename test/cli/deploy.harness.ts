import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { besideUs } from "../../cli/catalog.ts";
import { closure, type Part } from "../../cli/deploy/closure.ts";
import type { SshServer } from "../kit/ssh-server.ts";
import { openShell, type Said } from "../kit/svc.ts";

/** What a daemon with the local tier needs: a release of it is small. */
const NEEDED = ["cli", "kernel", "sdk", "store-sqlite", "tier-local"].map((name) => `@svc/${name}`);
/** Needed when a package is installed, or for TypeScript in a plugin. */
const NOT_NEEDED = ["prebuild-install", "jiti"];
const NOT_RUN = /\/(?:deps|src|obj|obj\.target|docs|test|tests|benchmarks|examples|\.tsbuildinfo[^/]*)$|\.d\.ts$|\.map$|\.a$/;

/** An installation as npm would make it, without the vendors' sources. */
export function install(folder: string): string {
  const beside = besideUs().filter((path) => NEEDED.some((name) => path.endsWith(`/${name}`)));
  for (const { from, to, workspace } of reached(closure(beside))) {
    const names = workspace ? published(from) : readdirSync(from).filter((name) => name !== "node_modules");
    mkdirSync(join(folder, to), { recursive: true });
    for (const name of names) cpSync(join(from, name), join(folder, to, name), { recursive: true, filter: (path) => !NOT_RUN.test(path.slice(from.length)) });
  }
  return folder;
}

/** The needed packages and what they depend on, without the other plugins that come with the program. */
function reached(parts: readonly Part[]): Part[] {
  const names = new Set<string>();
  const visit = (name: string): void => {
    if (names.has(name) || NOT_NEEDED.includes(name) || (name.startsWith("@svc/") && !NEEDED.includes(name))) return;
    names.add(name);
    for (const { from } of parts.filter((part) => part.name === name)) {
      const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
      for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) visit(needed);
    }
  };
  for (const name of NEEDED) visit(name);
  return parts.filter(({ name }) => names.has(name));
}

/** What npm would publish of a workspace. */
const published = (folder: string): string[] => {
  const { files } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { files: readonly string[] };
  return ["package.json", ...files.filter((name) => !name.startsWith("!") && existsSync(join(folder, name)))];
};

/** The installation once more under another version; `broken`: its daemon ends while it starts. */
export function another(installed: string, folder: string, version: string, { broken = false } = {}): string {
  // Links in place of copies: what differs is made anew.
  execFileSync("cp", ["-al", installed, folder]);
  const cli = join(folder, "node_modules/@svc/cli");
  const other = (name: string, text: string) => {
    rmSync(join(cli, name));
    writeFileSync(join(cli, name), text);
  };
  other("package.json", JSON.stringify({ ...JSON.parse(readFileSync(join(cli, "package.json"), "utf8")), version }));
  if (broken) other("dist/daemon/run.js", `export async function runDaemon() { throw new Error("this release is broken"); }\n`);
  return folder;
}

/** A machine at the other end: its daemon, seen as its operator sees it. */
export interface Far {
  readonly folder: string;
  current(): string | undefined;
  releases(): readonly string[];
  note(): { readonly pid: number; readonly port: number; readonly host: string };
  svc(...args: string[]): Promise<Said>;
  /** As a shell's `ask`. */
  ask(path: string, body?: object): Promise<unknown>;
  /** What its agent answers to a message. */
  answer(message: string): Promise<string>;
  /** What was deployed to that machine, here with that configuration, and its daemon running. */
  like(deployed: Far, config: object): Promise<void>;
  /** Ends its daemon, whatever it does. */
  end(): Promise<void>;
}

/** The daemon in that folder of the machine's home. */
export function farMachine(home: string, name: string): Far {
  const folder = join(home, name);
  const svc = (...args: string[]) => run(process.execPath, [join(folder, "current/node_modules/@svc/cli/bin/svc.cjs"), ...args], folder);
  const ask = async (path: string, body?: object): Promise<unknown> => (await openShell({}, folder)).ask(path, body);
  return {
    folder,
    current: () => {
      try {
        return readlinkSync(join(folder, "current")).replace("releases/", "");
      } catch {
        return undefined;
      }
    },
    releases: () => (existsSync(join(folder, "releases")) ? readdirSync(join(folder, "releases")).filter((name) => /^\d/.test(name)) : []),
    note: () => JSON.parse(readFileSync(join(folder, ".svc/daemon.json"), "utf8")),
    svc,
    ask,
    answer: async (message) => ((await ask("/task", { agent: "echo", message })) as { reply: string }).reply,
    async like(deployed, config) {
      // Releases never change: links do, in place of copies.
      execFileSync("cp", ["-al", deployed.folder, folder]);
      for (const file of ["svc.json", "releases/last.json", ".svc"]) rmSync(join(folder, file), { recursive: true, force: true });
      const text = JSON.stringify(config);
      writeFileSync(join(folder, "svc.json"), text, { mode: 0o600 });
      writeFileSync(join(folder, "releases/last.json"), JSON.stringify({ outcome: "up", config: createHash("sha256").update(text).digest("hex") }));
      const { code, err } = await svc("daemon", "start");
      if (code !== 0) throw new Error(`the daemon of ${folder} did not start: ${err}`);
    },
    async end() {
      await (await openShell({}, folder)).end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `svc daemon deploy far` of that installation, from a folder with that configuration, to that folder there. */
export function deployer(installed: string, folder: string, ssh: SshServer, to: string) {
  const program = join(installed, "node_modules/@svc/cli/bin/svc.cjs");
  const args = (more: readonly string[]) => [program, "daemon", "deploy", "far", "--ssh-config", ssh.config, "--folder", to, ...more];
  // A release is packed at each deployment: gzip's quickest is a third of the work.
  const quick = { GZIP: "-1" };
  return {
    run: (...more: string[]): Promise<Said> => run(process.execPath, args(more), folder, quick),
    with: (env: Record<string, string>, ...more: string[]): Promise<Said> => run(process.execPath, args(more), folder, { ...quick, ...env }),
    spawnWith: (env: Record<string, string>) =>
      spawn(process.execPath, args([]), { cwd: folder, stdio: ["ignore", "ignore", "ignore"], env: { ...process.env, SVC_CONFIG: "", ...env } }),
    spawn: (...more: string[]) => spawn(process.execPath, args(more), { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }),
    any: (...all: string[]): Promise<Said> => run(process.execPath, [program, ...all], folder),
  };
}

function run(program: string, args: readonly string[], cwd: string, more: Record<string, string> = {}): Promise<Said> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, SVC_CONFIG: "", ...more } });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

/** Files of a disk with room and few names: the copy fails in its middle. */
export function fewNames(folder: string): (() => void) | undefined {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=512m,nr_inodes=300", "tmpfs", folder], { stdio: "ignore" });
    return () => execFileSync("umount", ["-l", folder]);
  } catch {
    return undefined;
  }
}
