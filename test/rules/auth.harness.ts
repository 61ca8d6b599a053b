import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Kernel, KernelOptions } from "@svc/kernel";
import type { Plugin } from "@svc/sdk";
import { afterAll, afterEach } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { openLines } from "../kit/lines.ts";
import { type Scripted, scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

const ROOT = join(import.meta.dirname, "../..");
const SVC = join(ROOT, "cli/bin/svc.cjs");
const FEATURES = ["tokens", "dashboard", "mesh", "subscriptions"].map((name) => join(ROOT, "plugins/features", name));

const open: Kernel[] = [];
afterEach(async () => {
  for (const kernel of open.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

/** A daemon on a configuration file, with its two servers on free ports. */
export interface Guarded {
  readonly kernel: Kernel;
  readonly tier: Scripted;
  readonly folder: string;
  readonly dataFolder: string;
  /** Log lines, as they leave. */
  readonly logFile: string;
  readonly daemon: string;
  readonly dashboard: string;
  /** Runs the command line, in a process beside this one. */
  svc(...args: string[]): Promise<Ran>;
  /** A new token's id and secret, made by the command line. */
  token(...scopes: string[]): Promise<{ id: string; secret: string }>;
}

export interface GuardedOptions {
  readonly config?: Record<string, unknown>;
  readonly dashboard?: Record<string, unknown> | false;
  readonly env?: Record<string, string>;
  readonly plugins?: readonly Plugin<never>[];
  readonly options?: Partial<KernelOptions>;
}

export const AGENTS = {
  foo: { name: "Foo", workspace: "./w", tier: "scripted", access: "public" },
  foobar: { name: "Foobar", workspace: "./w", tier: "scripted", access: "public" },
  hidden: { name: "Hidden", workspace: "./w", tier: "scripted" },
};

/** Started; stopped after the test. */
export async function guarded({ config = {}, dashboard = {}, env = {}, plugins = [], options = {} }: GuardedOptions = {}): Promise<Guarded> {
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  const value = {
    node: { id: "n1", name: "Node 1", bind: "127.0.0.1:0", defaultAgent: "foo" },
    agents: AGENTS,
    ...(dashboard === false ? {} : { dashboard: { enabled: true, port: 0, ...dashboard } }),
    ...config,
  };
  await writeFile(file, JSON.stringify(value, null, 2), { mode: 0o600 });
  const tier = scriptedTier();
  const logFile = join(folder, "daemon.log");
  const kernel = await createTestKernel({
    config: file,
    plugins: [tier.plugin as Plugin<never>, ...plugins],
    known: FEATURES,
    listen: true,
    env: { ...env },
    log: { level: "debug", destination: logFile },
    ...options,
  });
  open.push(kernel);
  await kernel.start();
  const svc: Guarded["svc"] = (...args) => svcIn(folder, args, env);
  return {
    kernel,
    tier,
    folder,
    dataFolder: join(folder, ".svc"),
    logFile,
    daemon: `http://127.0.0.1:${kernel.address?.port}`,
    dashboard: `http://127.0.0.1:${kernel.servers.find(({ name }) => name === "dashboard")?.port}`,
    svc,
    async token(...scopes) {
      const { code, stdout, stderr } = await svc("--json", "token", "create", "--name", "test", ...scopes.flatMap((scope) => ["--scope", scope]));
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as { id: string; secret: string };
    },
  };
}

/** What a command said. */
type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** The lines of a file's tests run one after the other in one process, which ends with the last of them. */
const lines = openLines();
let last: Promise<unknown> = Promise.resolve();
afterAll(() => lines.close());

const words = (folder: string, args: readonly string[]) => ["--config", join(folder, "svc.json"), ...args];

/** The command line, run on the configuration in `folder`. */
export function svcIn(folder: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const ran = last.then(() => lines.run(dirname(SVC), words(folder, args), { HOME: folder, ...env }));
  last = ran;
  return ran.then(({ code, out, err }) => ({ code, stdout: out, stderr: err }));
}

/** The same in a process of its own, for what several do at once. */
export function processIn(folder: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const own = { PATH: process.env.PATH ?? "", HOME: folder, ...env };
  return new Promise((resolve) =>
    execFile(process.execPath, [SVC, ...words(folder, args)], { cwd: dirname(SVC), env: own }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    ),
  );
}

export const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
/** A header by which a request from this machine counts as one from another. */
export const REMOTE = { "x-forwarded-for": "8.8.8.8" };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  readonly text: string;
}

export async function get(base: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return answerOf(await fetch(base + path, { headers, redirect: "manual" }));
}

/** `body` as it is when it is a text. */
export async function send(base: string, path: string, body: unknown = {}, headers: Record<string, string> = {}, method = "POST"): Promise<Answer> {
  const init = { method, headers: { "content-type": "application/json", accept: "application/json", ...headers } };
  return answerOf(await fetch(base + path, { ...init, body: typeof body === "string" ? body : JSON.stringify(body) }));
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  let body: Record<string, unknown> = {};
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // A page.
  }
  return { status: response.status, headers: response.headers, body, text };
}

/** The frames of a stream as they come; ends when the stream does. */
export async function* framesOf(response: Response): AsyncGenerator<{ event: string; data: Record<string, unknown> }> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const pieces = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = pieces.pop() ?? "";
    for (const piece of pieces) {
      const event = /^event: (.*)$/m.exec(piece)?.[1];
      if (event !== undefined) yield { event, data: JSON.parse(/^data: (.*)$/m.exec(piece)?.[1] ?? "{}") as Record<string, unknown> };
    }
  }
}
