import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { besideUs } from "../../cli/catalog.ts";
import { closure } from "../../cli/deploy/closure.ts";
import type { SshServer } from "../kit/ssh-server.ts";
import type { Said } from "../kit/svc.ts";

/** What a daemon with the local tier needs: a release of it is small. */
const NEEDED = ["cli", "kernel", "sdk", "store-sqlite", "tier-local"];
const NOT_RUN = /\/(?:deps|src|obj|obj\.target|docs|test|tests|benchmarks|examples|\.tsbuildinfo)$|\.d\.ts$|\.map$/;

/** An installation as npm would make it, without the vendors' sources. */
export function install(folder: string): string {
  for (const { from, to, workspace } of closure(besideUs().filter((path) => NEEDED.some((name) => path.endsWith(`/@svc/${name}`))))) {
    const names = workspace ? published(from) : readdirSync(from).filter((name) => name !== "node_modules");
    mkdirSync(join(folder, to), { recursive: true });
    for (const name of names) cpSync(join(from, name), join(folder, to, name), { recursive: true, filter: (path) => !NOT_RUN.test(path.slice(from.length)) });
  }
  return folder;
}

/** What npm would publish of a workspace. */
const published = (folder: string): string[] => {
  const { files } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { files: readonly string[] };
  return ["package.json", ...files.filter((name) => !name.startsWith("!") && existsSync(join(folder, name)))];
};

/** The installation once more under another version; `broken`: its daemon ends while it starts. */
export function another(installed: string, folder: string, version: string, { broken = false } = {}): string {
  cpSync(installed, folder, { recursive: true });
  const cli = join(folder, "node_modules/@svc/cli");
  const file = join(cli, "package.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version }));
  const run = join(cli, "dist/daemon/run.js");
  if (broken) writeFileSync(run, `export async function runDaemon() { throw new Error("this release is broken"); }\n`);
  return folder;
}

/** A machine at the other end: its daemon, seen as its operator sees it. */
export interface Far {
  readonly folder: string;
  current(): string | undefined;
  releases(): readonly string[];
  note(): { readonly pid: number; readonly port: number; readonly host: string };
  svc(...args: string[]): Promise<Said>;
  /** What was deployed to that machine, here with that configuration, and its daemon running. */
  like(deployed: Far, config: object): Promise<void>;
  /** Ends its daemon, whatever it does. */
  end(): Promise<void>;
}

/** The daemon in that folder of the machine's home. */
export function farMachine(home: string, name: string): Far {
  const folder = join(home, name);
  const svc = (...args: string[]) => run(process.execPath, [join(folder, "current/node_modules/@svc/cli/bin/svc.mjs"), ...args], folder);
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
      if (existsSync(join(folder, "current"))) await svc("daemon", "stop", "--now");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `svc daemon deploy far` of that installation, from a folder with that configuration, to that folder there. */
export function deployer(installed: string, folder: string, ssh: SshServer, to: string) {
  const program = join(installed, "node_modules/@svc/cli/bin/svc.mjs");
  const args = (more: readonly string[]) => [program, "daemon", "deploy", "far", "--ssh-config", ssh.config, "--folder", to, ...more];
  return {
    run: (...more: string[]): Promise<Said> => run(process.execPath, args(more), folder),
    with: (env: Record<string, string>, ...more: string[]): Promise<Said> => run(process.execPath, args(more), folder, env),
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
