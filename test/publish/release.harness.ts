import { execFile, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { packAll } from "../../release/packages.mjs";
import type { Registry } from "./registry.ts";

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
  const work = mkdtempSync(join(target, "work-"));
  const made: Packed[] = [];
  for (const { name, file } of packed) {
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work);
    execFileSync("tar", ["-xzf", file, "-C", work]);
    const folder = join(work, "package");
    const pkg = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    pkg.version = to;
    for (const group of ["dependencies", "peerDependencies"])
      for (const dependency of Object.keys(pkg[group] ?? {})) if (dependency.startsWith("@svc/")) pkg[group][dependency] = to;
    writeFileSync(join(folder, "package.json"), JSON.stringify(pkg));
    if (name === "@svc/sdk") replaceIn(join(folder, "dist"), `SDK_VERSION = "${from}"`, `SDK_VERSION = "${to}"`);
    if (name === "@svc/cli") {
      const catalog = JSON.parse(readFileSync(join(folder, "catalog.json"), "utf8"));
      for (const entry of catalog.plugins) Object.assign(entry, { version: to, integrity: made.find((one) => one.name === entry.package)?.integrity });
      writeFileSync(join(folder, "catalog.json"), JSON.stringify(catalog));
      if (breakIt) replaceIn(join(folder, "dist/daemon"), "process.umask(", 'throw new Error("this release does not start"); process.umask(');
    }
    const out = join(target, `${name.slice(1).replace("/", "-")}-${to}.tgz`);
    execFileSync("tar", ["-czf", out, "-C", work, "package"]);
    made.push({ name, file: out, integrity: integrityOf(out) });
  }
  return made;
}

const integrityOf = (file: string): string => `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;

function replaceIn(folder: string, from: string, to: string): void {
  let found = 0;
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".js"))) {
    const file = join(folder, name);
    const text = readFileSync(file, "utf8");
    if (!text.includes(from)) continue;
    found += 1;
    writeFileSync(file, text.replace(from, to));
  }
  if (found === 0) throw new Error(`${from} stands nowhere in ${folder}`);
}

/** Publishes as `npm publish` does, one request each: npm itself takes a second for each of seventy. */
export async function publish(registry: Registry, packed: readonly Packed[]): Promise<void> {
  for (const { name, file, integrity } of packed) {
    const bytes = readFileSync(file);
    const manifest = JSON.parse(execFileSync("tar", ["-xzOf", file, "package/package.json"], { encoding: "utf8" }));
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

/** `node` runs npm and everything that is installed. */
export function openMachine(home: string, registry: Pick<Registry, "address">, node: string): Machine {
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
    npm_config_cache: join(home, "cache"),
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
