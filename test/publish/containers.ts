import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { buildImage, type Image } from "./containerfile.ts";
import { nodeOf } from "./release.harness.ts";

const run = promisify(execFile);
const TOOLS = ["mmdebstrap", "bwrap", "nsenter", "setpriv"];

/** What a command ended with. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Container {
  readonly image: Image;
  readonly child: ChildProcess;
  /** Of the container's process 1, as this machine sees it. */
  readonly pid: number;
  readonly ended: Promise<number | null>;
  said: string;
}

/** Why no container can be made here, or nothing. */
export async function containersMissing(): Promise<string | undefined> {
  const [tool] = TOOLS.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);
  if (tool !== undefined) return `there is no ${tool} here (on Debian: apt-get install mmdebstrap bubblewrap)`;
  if (process.getuid?.() !== 0) return "a Debian root is made by root";
  if (nodeOf(24) === undefined) return "there is no Node.js 24 here (npm ci --prefix test/publish/registry)";
  const mirror = await fetch("http://deb.debian.org/debian/dists/bookworm/Release", { method: "HEAD", signal: AbortSignal.timeout(10_000) }).catch(
    () => undefined,
  );
  return mirror?.ok === true ? undefined : "Debian's mirror does not answer";
}

/**
 * Stands for a container engine: it understands the few command lines that the documentation has, and nothing else. Images are folders;
 * containers are processes in namespaces of their own, without capabilities where that is asked for.
 */
export class Containers {
  readonly #home: string;
  readonly #registry: string;
  readonly #images = new Map<string, Image>();
  readonly #running = new Map<string, Container>();

  constructor(home: string, registry: string) {
    this.#home = home;
    this.#registry = registry;
    mkdirSync(join(home, "volumes"), { recursive: true });
  }

  /** Runs `docker <words>`. */
  async docker(...words: string[]): Promise<Outcome> {
    const [command, ...rest] = words;
    if (command === "build") return this.#build(rest);
    if (command === "run") return this.#run(rest);
    if (command === "exec") return this.exec(rest.filter((word) => word !== "-it" && word !== "-i"));
    if (command === "stop") return this.#stop(rest);
    if (command === "rm") return { code: this.#running.has(rest[0] ?? "") ? 1 : 0, out: "", err: "" };
    throw new Error(`docker ${words.join(" ")} is not understood`);
  }

  /** Runs a command in a running container, as its user. */
  async exec([name = "", ...command]: readonly string[]): Promise<Outcome> {
    const { image, pid } = this.#one(name);
    const inside = ["--target", String(pid), "--mount", "--net", "--pid", "--ipc", "--uts", "--root", "--", "env", "-i", ...environment(image)];
    const shell = ["setpriv", ...asUser(image), "sh", "-c", 'cd "$0" && exec "$@"', image.folder];
    return outcome(spawn("nsenter", [...inside, ...shell, ...command], { stdio: ["ignore", "pipe", "pipe"] }));
  }

  /** Runs the image's health check in a container. */
  health = (name: string): Promise<Outcome> => this.exec([name, ...this.#one(name).image.health]);

  /** What the container has written so far. */
  log = (name: string): string => this.#one(name).said;

  /** The status file of the container's first process that runs as the image's user. */
  status = (name: string): string => readFileSync(`/proc/${this.#one(name).pid}/status`, "utf8");

  async close(): Promise<void> {
    for (const { child, pid, ended } of this.#running.values()) {
      process.kill(pid, "SIGKILL");
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(this.#home, { recursive: true, force: true });
  }

  async #build(words: string[]): Promise<Outcome> {
    const { values, rest } = options(words, { "-t": 1, "-f": 1, "--build-arg": 1 });
    const file = values.get("-f")?.[0];
    const args = Object.fromEntries((values.get("--build-arg") ?? []).map((word) => word.split(/=(.*)/s).slice(0, 2)));
    const tag = values.get("-t")?.[0] ?? "";
    if (file === undefined || rest.length !== 1) throw new Error("docker build needs -f, -t and a folder");
    const root = join(this.#home, "images", tag);
    const image = await buildImage(readFileSync(file, "utf8"), args, {
      from: (base) => baseImage(base, root),
      folder: async (path) => void mkdirSync(join(root, path), { recursive: true }),
      run: async (command, { env }) => {
        const shown = [
          "--bind",
          root,
          "/",
          "--dev",
          "/dev",
          "--proc",
          "/proc",
          "--perms",
          "1777",
          "--tmpfs",
          "/tmp",
          "--ro-bind",
          "/etc/resolv.conf",
          "/etc/resolv.conf",
        ];
        const set = Object.entries({ HOME: "/root", ...env, npm_config_registry: this.#registry }).flatMap(([name, value]) => ["--setenv", name, value]);
        await run("bwrap", [...shown, "--clearenv", ...set, "--unshare-pid", "--die-with-parent", "sh", "-c", command], { maxBuffer: 16 * 1_048_576 });
      },
    });
    this.#images.set(tag, image);
    return { code: 0, out: "", err: "" };
  }

  async #run(words: string[]): Promise<Outcome> {
    const flags = { "-d": 0, "--read-only": 0, "--name": 1, "--tmpfs": 1, "--cap-drop": 1, "--security-opt": 1, "-v": 1 };
    const { values, rest } = options(words, flags);
    const [tag = "", ...command] = rest;
    const image = this.#images.get(tag);
    if (image === undefined) throw new Error(`there is no image '${tag}'`);
    if (values.get("--cap-drop")?.[0] !== "ALL" || values.get("--security-opt")?.[0] !== "no-new-privileges")
      throw new Error("only a container without privileges is stood for");
    const volumes = (values.get("-v") ?? []).flatMap((word) => {
      const [name = "", path = ""] = word.split(":");
      const folder = join(this.#home, "volumes", name);
      // A volume starts as what the image has there, with its owner.
      if (!existsSync(folder)) spawnSync("cp", ["-a", join(image.root, path), folder]);
      return ["--bind", folder, path];
    });
    const shown = [values.has("--read-only") ? "--ro-bind" : "--bind", image.root, "/", "--dev", "/dev", "--proc", "/proc", ...volumes];
    const spaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--info-fd", "3", "--die-with-parent"];
    const set = environmentPairs(image).flatMap(([name, value]) => ["--setenv", name, value]);
    const tmpfs = (values.get("--tmpfs") ?? []).flatMap((path) => ["--perms", "1777", "--tmpfs", path]);
    const start = command.length > 0 ? [...image.start.slice(0, image.start.indexOf("--") + 1), ...command] : image.start;
    const args = [...shown, ...tmpfs, ...spaces, "--clearenv", ...set, "--chdir", image.folder, "setpriv", ...asUser(image), ...start];
    const child = spawn("bwrap", args, { stdio: ["ignore", "pipe", "pipe", "pipe"] });
    const info = JSON.parse(await firstDocument(child)) as { "child-pid": number };
    const container: Container = { image, child, pid: info["child-pid"], ended: new Promise((resolve) => child.once("close", resolve)), said: "" };
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk) => {
        container.said += chunk;
      });
    this.#running.set(values.get("--name")?.[0] ?? "", container);
    return { code: 0, out: "", err: "" };
  }

  /** Answers with the code and the output of what ran in it. */
  async #stop([name = ""]: readonly string[]): Promise<Outcome> {
    const container = this.#one(name);
    process.kill(container.pid, "SIGTERM");
    const code = await container.ended;
    this.#running.delete(name);
    return { code, out: container.said, err: "" };
  }

  #one(name: string): Container {
    const found = this.#running.get(name);
    if (found === undefined) throw new Error(`there is no container '${name}'`);
    return found;
  }
}

const environmentPairs = (image: Image): (readonly [string, string])[] => Object.entries({ ...image.env });
const environment = (image: Image): string[] => environmentPairs(image).map(([name, value]) => `${name}=${value}`);

function asUser({ user }: Image): string[] {
  if (user === "root") throw new Error("the image runs as root");
  return [`--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"];
}

/** Words with the options that a command takes, each with its number of values; another option is an error. */
function options(words: readonly string[], known: Readonly<Record<string, number>>): { values: Map<string, string[]>; rest: string[] } {
  const values = new Map<string, string[]>();
  const left = [...words];
  while (left[0]?.startsWith("-")) {
    const [flag = "", own] = (left.shift() as string).split(/=(.*)/s);
    if (known[flag] === undefined) throw new Error(`the option ${flag} is not stood for`);
    const value = known[flag] === 0 ? [] : [own ?? (left.shift() as string)];
    values.set(flag, [...(values.get(flag) ?? []), ...value]);
  }
  return { values, rest: left };
}

function outcome(child: ChildProcess): Promise<Outcome> {
  return new Promise((resolve) => {
    let out = "";
    let err = "";
    child.stdout?.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr?.on("data", (chunk) => {
      err += chunk;
    });
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

/** What bubblewrap writes about its child to the fourth descriptor. */
function firstDocument(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += chunk;
    });
    child.stdio[3]?.on("data", (chunk) => {
      text += chunk;
      if (text.includes("}")) resolve(text);
    });
    child.once("error", reject);
    child.once("close", (code) => reject(new Error(`bwrap ended with ${code}: ${said}`)));
  });
}

/**
 * The root of `node:<version>-<suite>-slim`, made as that image is: Debian's smallest set, Node.js with npm below /usr/local, and a
 * user `node` with the number 1000. Debian's part is kept in the folder for temporary files.
 */
async function baseImage(image: string, root: string): Promise<string> {
  const [, version, suite] = /^node:([\d.]+)-([a-z]+)-slim$/.exec(image) ?? [];
  const node = nodeOf(24) as string;
  const { stdout: has } = await run(node, ["--version"]);
  if (has.trim() !== `v${version}`) throw new Error(`${image} is not the Node.js that is here (${has.trim()})`);
  const kept = join(tmpdir(), `svc-debian-${suite}-${process.arch}.tar`);
  if (!existsSync(kept)) {
    const making = `${kept}.${process.pid}.tar`;
    await run("mmdebstrap", ["--variant=minbase", "--quiet", suite as string, making], { maxBuffer: 16 * 1_048_576 });
    renameSync(making, kept);
  }
  mkdirSync(root, { recursive: true });
  await run("tar", ["-xf", kept, "-C", root, "--exclude=./dev/*"]);
  const npm = dirname(dirname((await run("sh", ["-c", 'readlink -f "$(command -v npm)"'])).stdout.trim()));
  const local = join(root, "usr/local");
  cpSync(node, join(local, "bin/node"), { dereference: true });
  cpSync(npm, join(local, "lib/node_modules/npm"), { recursive: true });
  for (const name of readdirSync(join(npm, "bin")).filter((one) => /^np[mx]-cli\.js$/.test(one)))
    symlinkSync(`../lib/node_modules/npm/bin/${name}`, join(local, "bin", name.replace("-cli.js", "")));
  writeFileSync(join(root, "etc/passwd"), `${readFileSync(join(root, "etc/passwd"), "utf8")}node:x:1000:1000::/home/node:/bin/bash\n`);
  writeFileSync(join(root, "etc/group"), `${readFileSync(join(root, "etc/group"), "utf8")}node:x:1000:\n`);
  return root;
}
