import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Spawn } from "../processes.ts";
import { type Bubblewrap, commandSandbox, programSandbox, shellQuoted } from "./sandbox.ts";

/** Result of testing whether a sandbox restricts programs on this machine. */
export type SandboxCheck = { readonly holds: true } | { readonly holds: false; readonly reason: string };

const LIMIT_MS = 20_000;
const MARK = "proof:";

/**
 * Tries to break out of both sandboxes in a scratch folder: to write the workspace (where it is read-only), its git settings, a neighbour's
 * folder; to reach a port of this machine; to find a canary in any process's environment. A sandbox that lets one of them through, or
 * in which a file and `git log` cannot be read, does not count. Never rejects.
 */
export async function checkSandbox(spawn: Spawn, bubblewrap: Bubblewrap, writable: boolean): Promise<SandboxCheck> {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), "svc-proof-")));
  let callers = 0;
  const listener = createServer((socket) => {
    callers += 1;
    socket.destroy();
  });
  try {
    await new Promise<void>((resolve, reject) => listener.once("error", reject).listen(0, "127.0.0.1", resolve));
    const workspace = join(scratch, "workspace");
    const git = await furnish(spawn, scratch, workspace);
    const before = shape(scratch);
    const canary = randomUUID();
    const room = { workspace, writable, readable: [] };
    const { port } = listener.address() as AddressInfo;
    const inner = shellQuoted(commandSandbox(bubblewrap, room, {}, probes(workspace, port, canary, writable, git)));
    const [program = "", ...args] = programSandbox(bubblewrap, { ...room, program: [], own: [] }, { SVC_PROOF: canary, PATH: "/usr/bin:/bin" });
    const child = spawn(program, [...args, "/bin/bash", "-c", `${writing(writable)}\n${inner}`], {
      cwd: workspace,
      env: { SVC_PROOF: canary },
      timeoutMs: LIMIT_MS,
    });
    await child.started;
    const { stdout, stderr } = await child.ended;
    const lines = stdout.split("\n").filter((line) => line.startsWith(MARK));
    const breach = lines.find((line) => line !== `${MARK} end`);
    if (breach !== undefined) return no(breach.slice(MARK.length).trim());
    if (callers > 0) return no("ports of this machine are reached from inside");
    const made = shape(scratch).filter((path) => !before.includes(path) && !(writable && isStub(path)));
    if (made.length > 0) return no(`${made[0]} was made from inside`);
    if (!lines.includes(`${MARK} end`)) return no(stderr.trim().split("\n").at(-1)?.slice(0, 200) || "a command in it does not run");
    return { holds: true };
  } catch (error) {
    return no((error as Error).message);
  } finally {
    listener.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

const no = (reason: string): SandboxCheck => ({ holds: false, reason });

/** A workspace with a file and a commit, and a neighbour. Answers whether there is a git to ask. */
async function furnish(spawn: Spawn, scratch: string, workspace: string): Promise<boolean> {
  mkdirSync(join(scratch, "neighbour"));
  mkdirSync(workspace);
  writeFileSync(join(workspace, "file"), "words\n");
  const made = spawn("/bin/sh", ["-c", "git init -q . && git add file && git -c user.name=svc -c user.email=svc@localhost commit -q -m proof"], {
    cwd: workspace,
    env: { HOME: scratch },
    timeoutMs: LIMIT_MS,
  });
  await made.started;
  return (await made.ended).code === 0;
}

/** Attempts of the engine itself. */
const writing = (writable: boolean): string =>
  writable
    ? `(: >> .git/config) 2>/dev/null && echo '${MARK} git settings can be written'`
    : `(: >> new) 2>/dev/null && echo '${MARK} the workspace can be written'`;

/** Attempts of a command. Each output line that begins with the mark reports an escape, except the last one. */
function probes(workspace: string, port: number, canary: string, writable: boolean, git: boolean): string {
  const tell = (what: string) => `echo '${MARK} ${what}'`;
  const sealed = [".git/config", ".git/hooks/new", ".claude/new", ".mcp.json", "../neighbour/new"];
  return [
    ...(writable ? sealed : ["file", "new", ...sealed]).map((path) => `(: >> '${path}') 2>/dev/null && ${tell(`${path} can be written`)}`),
    ...(writable ? [`mv .git moved 2>/dev/null && ${tell(".git can be moved away")}`] : []),
    ...(writable ? [`(: >> new && rm new) 2>/dev/null || ${tell("the workspace cannot be written")}`] : []),
    `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && ${tell("ports of this machine are reached from inside")}`,
    `grep -qs ${canary.slice(0, 18)}'${canary.slice(18)}' /proc/[0-9]*/environ && ${tell("variables of the engine are seen from inside")}`,
    `[ "$(cat '${workspace}/file')" = words ] || ${tell("the workspace cannot be read")}`,
    ...(git ? [`git log --oneline > /dev/null 2>&1 || ${tell("git does not run in it")}`] : []),
    tell("end"),
  ].join("\n");
}

/** Paths below a folder with the sizes of files; git's objects do not count. */
function shape(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "objects" ? [] : [path, ...shape(path)];
    return [entry.isFile() ? `${path}:${lstatSync(path).size}:${entry.name === "config" ? readFileSync(path, "utf8") : ""}` : path];
  });
}

/** Whether the path is a mount point that a sandbox creates. */
const isStub = (path: string): boolean => /\/(\.claude|\.codex|\.gemini|\.svc|\.mcp\.json|svc\.json|config\.worktree:0:|modules|info|hooks)$/.test(path);
