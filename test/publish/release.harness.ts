import { execFile, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { packAll } from "../../release/packages.mjs";
import type { Registry } from "./registry.ts";
import { type Edit, editTarball, fileOfTarball } from "./tarball.ts";

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL("./registry/node_modules", import.meta.url));

/** A tarball as the release makes it. */
export interface Packed {
  readonly name: string;
  readonly file: string;
  readonly integrity: string;
}

/** The program of another Node.js, from npm's package of it; undefined where that is not installed. */
export function nodeOf(major: 22 | 24): string | undefined {
  const file = join(MODULES, `node-${major}/bin/node`);
  return existsSync(file) ? file : undefined;
}

/** Every package of the release, packed as it is published. */
export const packRelease = (target: string): Packed[] => packAll(target) as Packed[];

/** The same packages as they would be in a later release: only their version differs. The cli comes last, with a catalogue of its own. */
export function asVersion(packed: readonly Packed[], from: string, to: string, target: string, breakIt = false): Packed[] {
  mkdirSync(target, { recursive: true });
  const made: Packed[] = [];
  for (const { name, file } of packed) {
    const edits: Edit[] = [
      ["package/package.json", (text) => manifestAs(text, to)],
      ...(name === "@svc/sdk" ? [[/^package\/dist\/[^/]+\.js$/, replacing(`SDK_VERSION = "${from}"`, `SDK_VERSION = "${to}"`)] as const] : []),
      ...(name === "@svc/cli" ? [["package/catalog.json", (text: string) => catalogAs(text, to, made)] as const] : []),
      ...(name === "@svc/cli" && breakIt
        ? [[/^package\/dist\/daemon\/[^/]+\.js$/, replacing("process.umask(", 'throw new Error("this release does not start"); process.umask(')] as const]
        : []),
    ];
    const bytes = editTarball(readFileSync(file), edits);
    const out = join(target, `${name.slice(1).replace("/", "-")}-${to}.tgz`);
    writeFileSync(out, bytes);
    made.push({ name, file: out, integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}` });
  }
  return made;
}

function manifestAs(text: string, version: string): string {
  const pkg = JSON.parse(text);
  pkg.version = version;
  for (const group of ["dependencies", "peerDependencies"])
    for (const dependency of Object.keys(pkg[group] ?? {})) if (dependency.startsWith("@svc/")) pkg[group][dependency] = version;
  return JSON.stringify(pkg);
}

function catalogAs(text: string, version: string, made: readonly Packed[]): string {
  const catalog = JSON.parse(text);
  for (const entry of catalog.plugins) Object.assign(entry, { version, integrity: made.find((one) => one.name === entry.package)?.integrity });
  return JSON.stringify(catalog);
}

const replacing = (from: string, to: string) => (text: string) => text.replace(from, to);

/** Publishes as `npm publish` does, one request each: npm itself takes a second for each of seventy. */
export async function publish(registry: Registry, packed: readonly Packed[]): Promise<void> {
  for (const { name, file, integrity } of packed) {
    const bytes = readFileSync(file);
    const manifest = JSON.parse(fileOfTarball(bytes, "package/package.json"));
    const tarball = `${name}-${manifest.version}.tgz`;
    const body = {
      _id: name,
      name,
      "dist-tags": { latest: manifest.version },
      versions: {
        [manifest.version]: {
          ...manifest,
          _id: `${name}@${manifest.version}`,
          dist: { integrity, shasum: createHash("sha1").update(bytes).digest("hex"), tarball: `${registry.address}${name}/-/${tarball}` },
        },
      },
      _attachments: { [tarball]: { content_type: "application/octet-stream", data: bytes.toString("base64"), length: bytes.length } },
    };
    const answer = await fetch(`${registry.address}${name.replace("/", "%2f")}`, {
      method: "PUT",
      headers: { "content-type": "application/json", authorization: "Bearer anyone", connection: "close" },
      body: JSON.stringify(body),
    });
    if (!answer.ok && answer.status !== 409) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  }
}

/** Bytes of everything below a folder; links are not followed. */
export function bytesBelow(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesBelow(path) : entry.isFile() ? statSync(path).size : 0);
  }, 0);
}

/** Paths of everything below a folder that is no folder itself. */
export const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });

/** A machine with Node.js, npm and our registry, and nothing else of this one. */
export interface Machine {
  readonly home: string;
  readonly prefix: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  npm(...args: string[]): Promise<string>;
  /** The installed program, as it is called on a terminal. */
  svc(...args: string[]): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

/** `node` runs npm and everything that is installed. Machines of one test file may share npm's `cache`. */
export function openMachine(home: string, registry: Pick<Registry, "address">, node: string, cache = join(home, "cache")): Machine {
  const prefix = join(home, "prefix");
  const folder = join(home, "bots");
  const bin = join(home, "bin");
  for (const path of [prefix, folder, bin]) mkdirSync(path, { recursive: true });
  writeFileSync(join(home, ".npmrc"), `registry=${registry.address}\nupdate-notifier=false\nprefix=${prefix}\n`);
  // npm is a script of its own Node.js: here it runs on the one that is looked at.
  const npmFile = execFileSync("sh", ["-c", 'readlink -f "$(command -v npm)"'], { encoding: "utf8" }).trim();
  for (const [name, command] of Object.entries({ node: `"${node}"`, npm: `"${node}" "${npmFile}"` }))
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  const env = {
    HOME: home,
    PATH: [join(prefix, "bin"), dirname(node), bin, "/usr/bin", "/bin"].join(":"),
    npm_config_userconfig: join(home, ".npmrc"),
    npm_config_cache: cache,
    SVC_LOG_LEVEL: "warn",
  };
  return {
    home,
    prefix,
    folder,
    env,
    npm: async (...args) => (await run("npm", [...args, "--no-audit", "--no-fund"], { cwd: home, env, maxBuffer: 16 * 1_048_576 })).stdout,
    svc: (...args) =>
      new Promise((resolve) => {
        const child = spawn(join(prefix, "bin/svc"), args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
        let out = "";
        let err = "";
        child.stdout.on("data", (chunk) => {
          out += chunk;
        });
        child.stderr.on("data", (chunk) => {
          err += chunk;
        });
        child.on("error", (error) => resolve({ code: null, out, err: err + error.message }));
        child.on("close", (code) => resolve({ code, out, err }));
      }),
  };
}
