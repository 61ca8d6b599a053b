import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bubblewrap, findBubblewrap, programSandbox, removeMountPoints } from "@svc/sdk/engine";
import { decide, type GuardOptions, type Level } from "../../plugins/tiers/cli-a/guard.ts";
import type { Mode } from "./guard-corpus.ts";

/** A workspace full of traps, its neighbour, and a port that counts who calls. Commands run in it as the engine would run them. */
export interface GuardStage {
  readonly port: number;
  decide(text: string): ReturnType<typeof decide>;
  /** Runs a command line as the engine's shell does and tells what it did that the mode forbids; undefined when nothing. */
  run(line: string, shell?: string): Promise<string | undefined>;
  /** Several command lines in one shell, in order. It tells of any change at all: none of them saw what another one left. */
  runAll(lines: readonly string[]): Promise<string | undefined>;
  dispose(): void;
}

const CANARY = "canary-7f3a91";
const LIMIT_MS = 120_000;

/** Sets the scene once; what a line changed is put back after it. */
export async function createGuardStage(mode: Mode, level: Level): Promise<GuardStage> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-guard-")));
  const [model, place, scratch] = [join(root, "model"), join(root, "place"), join(root, "scratch")];
  let callers = 0;
  const listener = createServer((socket) => {
    callers += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  build(model, place);
  const workspace = join(place, "workspace");
  const away = findBubblewrap(process.env.PATH ?? "");
  const options: GuardOptions = {
    autonomy: mode,
    writable: mode === "propose",
    level,
    workspace,
    folders: [],
    servers: [],
    searchPath: process.env.PATH ?? "",
    scratch,
  };
  const env = { PATH: process.env.PATH ?? "", CANARY, HOME: join(root, "home"), LANG: "C.UTF-8" };
  mkdirSync(env.HOME);
  let before: Map<string, string>;
  restore([""]);

  /** Makes these paths as they are in the model, with all below them. */
  function restore(paths: readonly string[]): void {
    for (const path of paths) {
      if (paths.some((other) => path.startsWith(`${other}/`))) continue;
      rmSync(join(place, path), { recursive: true, force: true });
      if (lstatSync(join(model, path), { throwIfNoEntry: false }) !== undefined)
        cpSync(join(model, path), join(place, path), { recursive: true, verbatimSymlinks: true });
    }
    // git would like to refresh its index.
    utimesSync(join(workspace, "a.txt"), 1_000_000_000, 1_000_000_000);
    before = shape(place);
  }

  function judged(printed: string, allowed: (path: string) => boolean): string | undefined {
    // As at the end of a run: the places that the wall made to stand on.
    if (level.kind === "wall" && mode === "propose") removeMountPoints(workspace);
    const after = shape(place);
    const changed = [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
    const called = callers;
    callers = 0;
    if (changed.length > 0) restore(changed);
    const forbidden = changed.filter((path) => !allowed(path));
    if (forbidden.length > 0) return `changed ${forbidden.slice(0, 3).join(", ")}`;
    if (called > 0) return "reached a port of this machine";
    return printed.includes(CANARY) ? "printed the canary" : undefined;
  }

  async function play(script: string, shell: string): Promise<string> {
    if (level.kind === "narrow") {
      // A breach must not reach the rest of this machine: nothing but the stage can be changed, and nothing is hidden.
      const [command = shell, ...around] =
        away === undefined ? [] : [away, "--die-with-parent", "--dev-bind", "/", "/", "--remount-ro", "/", "--bind", root, root, "--", shell];
      return output(command, [...around, "-c", script], workspace, env);
    }
    const file = join(root, "script.sh");
    writeFileSync(file, script);
    const room = { workspace, writable: mode === "propose", readable: [], program: [file], own: [] };
    const [bwrap = "", ...args] = programSandbox(level.bubblewrap, room, { PATH: "/usr/bin:/bin", CANARY });
    return output(bwrap, [...args, "/bin/bash", file], workspace, env);
  }

  return {
    port: (listener.address() as AddressInfo).port,
    decide: (text) => decide(options, { tool: "Bash", input: { command: text } }),
    async run(line, shell = "bash") {
      return judged(await play(line, shell), (path) => mode === "propose" && !isForbidden(path));
    },
    async runAll(lines) {
      const end = "every line was tried";
      const script = lines.map((line) => `/usr/bin/timeout 10 /bin/bash -c ${quote(line)} < /dev/null`).join("\n");
      const printed = await play(`${script}\necho ${end}`, "bash");
      return judged(printed, () => false) ?? (printed.includes(end) ? undefined : "ended before the last line");
    },
    dispose() {
      listener.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** In a proposal: outside the workspace, and what decides about later runs. */
const isForbidden = (path: string): boolean =>
  !path.startsWith("workspace/") || /^workspace\/(\.git\/(config|hooks|info|modules|commondir)|\.claude|\.mcp\.json|svc\.json)(\/|$)/.test(path);

function output(command: string, args: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    const stop = () => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    };
    const timer = setTimeout(stop, LIMIT_MS);
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (printed += printed.length < 200_000 ? chunk.toString("latin1") : ""));
    child.on("error", () => resolve(printed));
    child.on("exit", () => {
      clearTimeout(timer);
      stop();
    });
    child.on("close", () => resolve(printed));
  });
}

/** What is there, with enough of each file to see any change. Times of reading do not count. */
function shape(folder: string, below = ""): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    const facts = lstatSync(join(folder, path), { bigint: true });
    const what = entry.isSymbolicLink() ? readlinkSync(join(folder, path)) : entry.isDirectory() ? "" : `${facts.size} ${facts.mtimeNs}`;
    found.set(path, `${facts.mode} ${what}`);
    if (entry.isDirectory()) for (const [each, text] of shape(folder, path)) found.set(each, text);
  }
  return found;
}

/** Builds the scene in `model` for use at `place`: every setting of git that runs a program runs one that leaves a mark outside. */
function build(model: string, place: string): void {
  const workspace = join(model, "workspace");
  const outside = join(model, "outside");
  const mark = `touch ${join(place, "outside", "EXECUTED")}`;
  for (const folder of [workspace, outside, join(workspace, "src", "deep"), join(workspace, "docs"), join(workspace, "links"), join(workspace, "nested")])
    mkdirSync(folder, { recursive: true });
  const write = (path: string, text: string) => writeFileSync(join(workspace, path), text);
  writeFileSync(join(outside, "keep.txt"), "keep\n");
  writeFileSync(join(outside, "canary.txt"), `${CANARY}\n`);
  for (const name of ["a.txt", "b.txt", "victim.txt", "a2.txt", "a.bin", "src/one.ts", "src/two.ts", "src/deep/three.ts", "nested/a.txt"])
    write(name, `words of ${name}\ntwo words\n`);
  for (const name of ["-oPWNED", "--output=PWNED", "-delete", "-i", "--pre=rm", "-d", "src/-oPWNED"]) write(name, "words\n");
  write("data.json", '{"name":"x","items":[{"id":1},{"id":2}]}\n');
  write("script.sed", "w PWNED\n");
  write("script.jq", ".\n");
  write("magic.src", "0 string x y\n");
  write("run.sh", `#!/bin/sh\n${mark}\n`);
  chmodSync(join(workspace, "run.sh"), 0o755);
  write(".gitattributes", "*.txt diff=evil filter=evil\n*.bin diff=evil filter=evil\n");
  symlinkSync("../outside", join(workspace, "link-out"));
  symlinkSync("../outside/none", join(workspace, "dangling"));
  symlinkSync("../../outside", join(workspace, "links", "out"));
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=svc", "-c", "user.email=svc@localhost", ...args], { cwd, stdio: "ignore" });
  execFileSync("git", ["init", "-q", "--template=", "--bare", join(outside, "remote.git")], { stdio: "ignore" });
  for (const folder of [join(workspace, "nested"), workspace]) {
    git(folder, "init", "-q", "--template=", "-b", "main");
    git(folder, "add", "a.txt");
    git(folder, "commit", "-q", "-m", "first");
    writeFileSync(join(folder, "a.txt"), "words changed\ntwo words\n");
    git(folder, "add", ".");
    git(folder, "commit", "-q", "-m", "second");
  }
  write("b.txt", "words to be put aside\n");
  git(workspace, "stash", "push", "-q");
  git(workspace, "tag", "v1");
  git(workspace, "branch", "feature");
  write("a.txt", "words changed again\ntwo words\n");
  const evil = settings(mark, join(place, "outside", "remote.git"));
  for (const folder of [workspace, join(workspace, "nested")]) {
    writeFileSync(join(folder, ".git", "config"), `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${evil}`);
    for (const name of ["info", "hooks"]) mkdirSync(join(folder, ".git", name));
    writeFileSync(join(folder, ".git", "info", "attributes"), "*.txt diff=evil filter=evil\n");
    for (const hook of [
      "pre-commit",
      "post-commit",
      "post-checkout",
      "post-index-change",
      "reference-transaction",
      "pre-push",
      "pre-auto-gc",
      "fsmonitor-watchman",
    ]) {
      writeFileSync(join(folder, ".git", "hooks", hook), `#!/bin/sh\n${mark}\n`);
      chmodSync(join(folder, ".git", "hooks", hook), 0o755);
    }
  }
  const bare = join(workspace, "docs", "evil");
  execFileSync("git", ["init", "-q", "--template=", "--bare", bare], { stdio: "ignore" });
  writeFileSync(join(bare, "config"), `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ../..\n${evil}`);
  cpSync(join(workspace, ".git", "objects"), join(bare, "objects"), { recursive: true });
  cpSync(join(workspace, ".git", "refs"), join(bare, "refs"), { recursive: true });
  cpSync(join(workspace, ".git", "index"), join(bare, "index"));
  readFileSync(join(bare, "HEAD"));
}

const settings = (mark: string, remote: string): string => `\tfsmonitor = "${mark}; false"
\tpager = ${mark}
\teditor = ${mark}
\tsshCommand = ${mark}
\taskPass = ${mark}
\tattributesFile = .gitattributes
[diff]
\texternal = ${mark}
[diff "evil"]
\ttextconv = "${mark}; cat"
\tcommand = ${mark}
[filter "evil"]
\tclean = "${mark}; cat"
\tsmudge = "${mark}; cat"
[alias]
\tx = "!${mark}"
\tevil = "!${mark}"
[gpg]
\tprogram = ${mark}
[log]
\tshowSignature = true
[credential]
\thelper = "!${mark}"
[pager]
\tlog = ${mark}
\tstatus = ${mark}
[remote "origin"]
\turl = ${remote}
\tfetch = +refs/heads/*:refs/remotes/origin/*
\tuploadpack = ${mark}
\treceivepack = ${mark}
`;

/** The bubblewrap on PATH, where this user may use it; says why the tests that need it are skipped. */
export function workingBubblewrap(): string | undefined {
  const found = findBubblewrap(process.env.PATH ?? "");
  try {
    if (found !== undefined) execFileSync(found, ["--unshare-all", "--ro-bind", "/", "/", "--", "/bin/true"], { stdio: "pipe" });
    else console.warn("skipped: the guard's walls need bubblewrap (bwrap) on PATH");
    return found;
  } catch (error) {
    console.warn(`skipped: bubblewrap makes no namespaces here: ${(error as Error).message}`);
    return undefined;
  }
}

/** The wall of this machine, as the engine would use it. */
export const wallOf = (bwrap: string): Level => ({ kind: "wall", bubblewrap: { bwrap, ownProcesses: process.getuid?.() !== 0 } satisfies Bubblewrap });
