import { spawn } from "node:child_process";
import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fail } from "../errors.ts";
import type { Errand } from "./far-side.ts";

/** Access to the far machine. */
export interface Way {
  /** `host` or `user@host`, as ssh takes it. */
  readonly host: string;
  readonly port?: number;
  /** A file for ssh's `-F`, in the place of the user's own. */
  readonly sshConfig?: string;
  /** Node there, if it is not on the PATH of a command that ssh runs. */
  readonly node?: string;
}

/** One line that the far side says. */
export interface Told {
  readonly error?: string;
  readonly code?: string;
  readonly [key: string]: unknown;
}

const HOST = /^(?!-)(?:(?!-)[\w.+-]+@)?(?!-)(?:[\w.-]+|\[?[\da-fA-F:]+\]?)$/;
const NODE = /^\/[\w./+-]+$/;

/** Throws `SVC_CLI_USAGE` unless ssh and a shell can only read the values as a host and a program. */
export function checkWay({ host, node }: Way): void {
  if (!HOST.test(host)) throw fail("SVC_CLI_USAGE", { reason: `${JSON.stringify(host)} is no host; give a peer of svc.json, host or user@host` });
  if (node !== undefined && !NODE.test(node))
    throw fail("SVC_CLI_USAGE", { reason: `--node takes an absolute path of letters, digits and . _ + -, not ${JSON.stringify(node)}` });
}

/**
 * Constant command for the far shell: a program that reads the command from standard input. It contains nothing of the configuration. 16 digits give
 * the lengths of the code and the command that follow; the rest of the input is data for the command.
 */
const RECEIVER = [
  "const i=process.stdin[Symbol.asyncIterator]();let b=Buffer.alloc(0);",
  "const take=async(n)=>{while(b.length<n){const r=await i.next();if(r.done)process.exit(91);b=Buffer.concat([b,r.value])}const t=b.subarray(0,n);b=b.subarray(n);return t};",
  "async function*rest(){if(b.length>0)yield b;for(;;){const r=await i.next();if(r.done)return;yield r.value}}",
  '(async()=>{const h=String(await take(16));const code=await take(Number(h.slice(0,8)));const errand=JSON.parse(await take(Number(h.slice(8))));const m=await import("data:text/javascript;base64,"+code.toString("base64"));await m.farSide(errand,rest())})()',
].join("");

const SSH = ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"];
const NOT_FOUND = 127;
const SSH_FAILED = 255;

/** Callbacks for the output of the far side. */
export interface Listening {
  onLine(line: Told): void;
  /** A line in another format, such as the output of a failed program. */
  onText?(line: string): void;
  /** A file that is sent after the errand. */
  readonly body?: string;
  /** Ends the connection; work begun on the far side continues. */
  readonly signal?: AbortSignal;
}

/**
 * Runs an errand on the remote machine over the system's ssh and passes each line of its output to `onLine`. Throws `SVC_CLI_DEPLOY` if there is no
 * connection or no Node, or if the connection breaks before the errand has ended.
 */
export async function runFar(way: Way, errand: Errand, { onLine, onText, body, signal }: Listening): Promise<void> {
  const code = readFileSync(new URL("./far-side.js", import.meta.url));
  const asked = Buffer.from(JSON.stringify(errand));
  const args = [
    ...SSH,
    ...(way.sshConfig === undefined ? [] : ["-F", way.sshConfig]),
    ...(way.port === undefined ? [] : ["-p", String(way.port)]),
    "--",
    way.host,
    `exec ${way.node ?? "node"} -e '${RECEIVER}'`,
  ];
  const child = spawn("ssh", args, { stdio: ["pipe", "pipe", "pipe"] });
  signal?.addEventListener("abort", () => child.kill(), { once: true });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said = (said + chunk).slice(-4_096);
  });
  // Its exit says why it closed its end.
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(fail("SVC_CLI_DEPLOY", { target: way.host, reason: error.code === "ENOENT" ? "there is no ssh on PATH here" : error.message })),
    );
    child.once("close", resolve);
  });
  child.stdin.write(`${String(code.length).padStart(8, "0")}${String(asked.length).padStart(8, "0")}`);
  child.stdin.write(code);
  child.stdin.write(asked);
  // Without a body stdin stays open: closing it would carry no meaning.
  if (body !== undefined) createReadStream(body).pipe(child.stdin);
  let error: Told | undefined;
  let foreign = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    const told = parse(line);
    if (told === undefined) onText?.((foreign = line));
    else if (told.error === undefined) onLine(told);
    else error = told;
  });
  const exit = await ended;
  child.stdin.destroy();
  if (error !== undefined) throw Object.assign(fail("SVC_CLI_DEPLOY", { target: way.host, reason: error.error }), error.code === "ENOSPC" ? { exit: 74 } : {});
  if (exit === 0) return;
  throw fail("SVC_CLI_DEPLOY", { target: way.host, reason: reasonOf(exit, said.trim() || foreign, way) });
}

function reasonOf(exit: number | null, said: string, { node }: Way): string {
  const words = said.split("\n").slice(-3).join(" ").trim();
  if (exit === NOT_FOUND)
    return `there is no ${node ?? "node"} on the PATH of commands that ssh runs there; install Node, or name it with --node /path/of/node${words === "" ? "" : ` (${words})`}`;
  if (exit === SSH_FAILED) return `ssh failed: ${words === "" ? "the connection broke" : words}`;
  return `the far side ended with code ${exit}${words === "" ? "" : `: ${words}`}`;
}

function parse(line: string): Told | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null ? (value as Told) : undefined;
  } catch {
    return undefined;
  }
}
