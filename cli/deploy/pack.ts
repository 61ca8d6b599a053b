import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, createReadStream, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fail } from "../errors.ts";
import { FORMER } from "../upgrade/installation.ts";
import { closure, type Part } from "./closure.ts";

/** A release in one file. */
export interface Archive {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A copy of the running program. */
export interface Release {
  /** `<version>-<hash of the contents>`: the same program has the same name. */
  readonly name: string;
  /** Made when it is first asked for: where the release is already, none is sent. */
  archive(): Promise<Archive>;
  /** Size of the unpacked release. */
  readonly unpackedBytes: number;
  readonly files: number;
  readonly packages: number;
  /** Contains code compiled for this system and this Node; the far side must be like them. */
  readonly native: boolean;
  /** Removes the copy and the archive. */
  remove(): void;
}

/** Prefix of the temporary folder, followed by the process id. */
const PREFIX = "svc-deploy-";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** File in a release with its description. */
export const RELEASE_FILE = "release.json";

/** Copies the running program with its plugins and all their dependencies, as npm would publish it: without a registry on either side. */
export async function packProgram(version: string): Promise<Release> {
  sweep();
  let made: string | undefined;
  const ended = (signal: NodeJS.Signals) => {
    for (const child of running) child.kill("SIGKILL");
    remove();
    process.kill(process.pid, signal);
  };
  const remove = () => {
    for (const signal of SIGNALS) process.off(signal, ended);
    if (made !== undefined) removeFolder(made);
  };
  // Before there is a folder: a signal that comes right after it was made would leave it.
  for (const signal of SIGNALS) process.once(signal, ended);
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  made = folder;
  try {
    const tree = join(folder, "tree");
    const parts = closure();
    await copyWorkspaces(
      parts.filter(({ workspace }) => workspace),
      tree,
      folder,
    );
    // Copies: links would be cheap, but the archive could then hold another state than the one that names it.
    for (const { from, to } of parts.filter(({ workspace }) => !workspace))
      cpSync(from, join(tree, to), { recursive: true, dereference: true, filter: (path) => path === from || !LEFT_OUT.has(basename(path)) });
    const list = contents(tree);
    const hash = createHash("sha256");
    for (const { path, sha256 } of list) hash.update(`${path}\0${sha256}\n`);
    const name = `${version}-${hash.digest("hex").slice(0, 12)}`;
    const native = list.some(({ path }) => path.endsWith(".node"));
    writeFileSync(join(tree, RELEASE_FILE), `${JSON.stringify({ name, version, packages: parts.length, files: list.length }, null, 2)}\n`);
    let archive: Promise<Archive> | undefined;
    return {
      name,
      archive: () => (archive ??= archived(tree, join(folder, "release.tgz"))),
      unpackedBytes: list.reduce((sum, { bytes }) => sum + bytes, 0),
      files: list.length,
      packages: parts.length,
      native,
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function archived(tree: string, file: string): Promise<Archive> {
  await tar(["-czf", file, "-C", tree, "."]);
  return { file, bytes: statSync(file).size, sha256: await hashOf(file) };
}

/** Parts of their own, and the release before this one (see `svc upgrade`). */
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", FORMER]);

/** Removes a folder in which a tar that was killed just now, or the gzip that it had started, may still make a file. */
function removeFolder(folder: string): void {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === 50) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** Removes leftovers of killed deployers, recognised by their process ids. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? /^(\d+)-\w{6}$/.exec(name.slice(PREFIX.length))?.[1] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    } catch {
      // Another user's.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Unpacks the files that npm would publish of each workspace into its place. */
async function copyWorkspaces(parts: readonly Part[], tree: string, folder: string): Promise<void> {
  if (parts.length === 0) return;
  const packed = join(folder, "packed");
  mkdirSync(packed);
  const said = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", packed, ...parts.map(({ from }) => from)], folder);
  const tarballs = new Map((JSON.parse(said) as { name: string; filename: string }[]).map(({ name, filename }) => [name, filename]));
  for (const { name, to } of parts) {
    const target = join(tree, to);
    mkdirSync(target, { recursive: true });
    await tar(["-xzf", join(packed, (tarballs.get(name) as string).replace(/^@/, "").replace("/", "-")), "-C", target, "--strip-components=1"]);
  }
  rmSync(packed, { recursive: true });
}

interface Listed {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

function contents(tree: string): Listed[] {
  const paths = readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return paths.map((path) => {
    const bytes = readFileSync(path);
    return { path: path.slice(tree.length + 1), bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  });
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** Programs that work for this one. */
const running = new Set<ChildProcess>();

const tar = (args: readonly string[]): Promise<string> => run("tar", args, "/");

/** Standard output. No shell reads the words. */
function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    running.add(child);
    child.on("close", () => running.delete(child));
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      err = (err + chunk).slice(-4_096);
    });
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(fail("SVC_CLI_DEPLOY_PACK", { reason: error.code === "ENOENT" ? `there is no ${program} on PATH` : error.message })),
    );
    child.on("close", (code) => {
      if (code === 0) resolve(out);
      else reject(fail("SVC_CLI_DEPLOY_PACK", { reason: `${program} ended with code ${code}: ${err.trim().split("\n").slice(-3).join(" ")}` }));
    });
  });
}
