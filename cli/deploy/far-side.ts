import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

// This file runs on the far machine before any other file of ours is there: it is sent as text, and imports only Node's own modules.

/** Command for the far side. */
export type Errand =
  | { readonly do: "look"; readonly folder: string; readonly release: string }
  | { readonly do: "receive"; readonly folder: string; readonly release: string; readonly sha256: string; readonly bytes: number }
  | { readonly do: "activate"; readonly folder: string; readonly release: string; readonly order: unknown };

/** State of the far machine. */
export interface Look {
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  /** ABI version of Node: native modules compiled for another one do not load. */
  readonly abi: string;
  readonly folder: string;
  /** The release that `current` leads to. */
  readonly current?: string;
  readonly releases: readonly string[];
  /** Whether that release exists and is complete. */
  readonly there: boolean;
  readonly freeBytes: number;
  /** The process that deploys there now. */
  readonly deploying?: number;
  /** SHA-256 of the configuration there, and of the one that the newest deployment put there. */
  readonly config?: string;
  readonly deployedConfig?: string;
  /** Result of the newest deployment. */
  readonly last?: unknown;
}

/** Marker file of a complete release, written after everything else is on disk. */
const WHOLE = ".whole";
const TAIL_MS = 100;

const tell = (line: unknown): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

/** Runs one command and reports its result as lines of JSON on standard output. `input`: the data after the command. */
export async function farSide(errand: Errand, input: AsyncIterable<Buffer>): Promise<void> {
  try {
    const folder = resolve(homedir(), errand.folder);
    if (errand.do === "look") tell({ look: look(folder, errand.release) });
    else if (errand.do === "receive") await receive(folder, errand, input);
    else await activate(folder, errand);
    process.exit(0);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    tell({ error: message, ...(code === undefined ? {} : { code }) });
    process.exit(1);
  }
}

function look(folder: string, release: string): Look {
  const releases = join(folder, "releases");
  const names = existsSync(releases) ? readdirSync(releases).filter((name) => existsSync(join(releases, name, WHOLE))) : [];
  const { bavail, bsize } = statfsSync(firstThere(folder));
  const deploying = holder(join(releases, "deploy.lock"));
  const current = linkOf(join(folder, "current"));
  const config = hashOf(join(folder, "svc.json"));
  const last = json(join(releases, "last.json")) as { readonly config?: string } | undefined;
  return {
    node: process.version,
    platform: process.platform,
    arch: process.arch,
    abi: process.versions.modules,
    folder,
    ...(current === undefined ? {} : { current: current.replace(/^releases\//, "") }),
    releases: names,
    there: names.includes(release),
    freeBytes: bavail * bsize,
    ...(deploying === undefined ? {} : { deploying }),
    ...(config === undefined ? {} : { config }),
    ...(last?.config === undefined ? {} : { deployedConfig: last.config }),
    ...(last === undefined ? {} : { last }),
  };
}

/** Unpacks the archive into a temporary folder and renames it when all of it is on disk: an interrupted copy never becomes a release. */
async function receive(folder: string, { release, sha256, bytes }: Errand & { do: "receive" }, input: AsyncIterable<Buffer>): Promise<void> {
  const releases = join(folder, "releases");
  mkdirSync(releases, { recursive: true, mode: 0o700 });
  sweep(releases);
  const incoming = join(releases, `.incoming-${process.pid}-${release}`);
  mkdirSync(incoming, { mode: 0o700 });
  const drop = () => rmSync(incoming, { recursive: true, force: true });
  try {
    await unpack(incoming, sha256, bytes, input);
    sync(incoming);
    writeFileSync(join(incoming, WHOLE), "");
    const target = join(releases, release);
    // Another process has transferred the same release in between.
    if (existsSync(join(target, WHOLE))) return drop();
    rmSync(target, { recursive: true, force: true });
    renameSync(incoming, target);
    sync(releases);
    tell({ received: release });
  } catch (error) {
    drop();
    throw error;
  }
}

async function unpack(incoming: string, sha256: string, bytes: number, input: AsyncIterable<Buffer>): Promise<void> {
  // `-o`: the files belong to who deploys, not to the owner of the installation that they come from.
  const child = spawn("tar", ["-xzof", "-", "-C", incoming], { stdio: ["pipe", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said = (said + chunk).slice(-2_048);
  });
  // A tar that gave up closes its end; its exit says why.
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((done, failed) => {
    child.once("error", failed);
    child.once("close", done);
  });
  ended.catch(() => {});
  const hash = createHash("sha256");
  let got = 0;
  for await (const chunk of input) {
    got += chunk.length;
    hash.update(chunk);
    if (child.exitCode === null && !child.stdin.write(chunk)) await Promise.race([new Promise((done) => child.stdin.once("drain", done)), ended]);
    if (got >= bytes) break;
  }
  child.stdin.end();
  const code = await ended;
  if (code !== 0) {
    const full = /No space left|quota/i.test(said);
    throw Object.assign(new Error(full ? `the disk is full in ${incoming}` : `tar ended with code ${code}: ${said.trim().split("\n").at(0)}`), {
      code: full ? "ENOSPC" : "SVC_TAR",
    });
  }
  if (got !== bytes || hash.digest("hex") !== sha256) throw new Error(`the copy broke off: ${got} of ${bytes} bytes came`);
}

/**
 * Starts the release's own program for the switch, in a session of its own: it completes, with the new daemon up or the old one restored, even if
 * this connection breaks. Its output is forwarded while the connection holds.
 */
async function activate(folder: string, { release, order }: Errand & { do: "activate" }): Promise<void> {
  const releases = join(folder, "releases");
  const id = `${Date.now()}-${process.pid}`;
  const file = join(releases, `.order-${id}.json`);
  const log = join(releases, `.log-${id}`);
  writeFileSync(file, JSON.stringify(order), { mode: 0o600 });
  const out = openSync(log, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND, 0o600);
  const program = join(releases, release, "node_modules/@svc/cli/dist/deploy/switch-program.js");
  const child = spawn(process.execPath, [program, file], { cwd: folder, detached: true, stdio: ["ignore", out, out], env: environment() });
  let code: number | null | undefined;
  child.once("exit", (ended) => {
    code = ended;
  });
  const read = openSync(log, "r");
  const chunk = Buffer.alloc(65_536);
  for (let last = false; ; ) {
    const count = readSync(read, chunk, 0, chunk.length, null);
    if (count > 0) process.stdout.write(chunk.subarray(0, count));
    else if (last) break;
    else if (code !== undefined) last = true;
    else await new Promise((done) => setTimeout(done, TAIL_MS));
  }
  closeSync(read);
  closeSync(out);
  rmSync(log, { force: true });
  rmSync(file, { force: true });
  if (code !== 0) tell({ ended: code ?? null });
}

/** Returns the environment without the variables of this connection. */
function environment(): NodeJS.ProcessEnv {
  const { SSH_CLIENT: _client, SSH_CONNECTION: _connection, SSH_TTY: _tty, SSH_AUTH_SOCK: _agent, ...env } = process.env;
  return env;
}

/** Removes leftovers of copies and switches whose process has ended. */
function sweep(releases: string): void {
  for (const name of readdirSync(releases)) {
    const pid = /^\.(?:incoming-|order-\d+-|log-\d+-)(\d+)/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(releases, name), { recursive: true, force: true });
  }
}

function holder(lock: string): number | undefined {
  const { pid } = (json(lock) ?? {}) as { readonly pid?: number };
  return pid !== undefined && isAlive(pid) ? pid : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function json(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function hashOf(file: string): string | undefined {
  return existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : undefined;
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

const firstThere = (folder: string): string => (existsSync(folder) ? folder : firstThere(resolve(folder, "..")));

/** Flushes everything written below `folder` to the disk, as far as the system reports it. */
function sync(folder: string): void {
  const open = openSync(folder, "r");
  try {
    fsyncSync(open);
  } finally {
    closeSync(open);
  }
}
