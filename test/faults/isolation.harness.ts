import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kernel, PluginStatus } from "@svc/kernel";
import type { Actions, Plugin } from "@svc/sdk";
import { type Running, type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";

/** A plugin as a package of one module. `setup` is the body of its setup, `top` what stands above the export. */
export interface Laid {
  readonly name: string;
  readonly setup: string;
  readonly kind?: string;
  readonly top?: string;
  readonly capabilities?: readonly string[];
  readonly manifest?: object;
  readonly plugin?: string;
}

/** Writes it into `<folder>/<name>` and answers the entry of `plugins` that lets it run in a process of its own. */
export function lay(folder: string, { name, setup, kind = "feature", top = "", capabilities = [], manifest = {}, plugin = "" }: Laid): string {
  const at = join(folder, name);
  mkdirSync(at, { recursive: true });
  const svc = { api: 1, kind, name, entry: "./index.mjs", activate: "always", capabilities, ...manifest };
  writeFileSync(join(at, "package.json"), JSON.stringify({ name: `svc-plugin-${name}`, version: "1.0.0", type: "module", svc }));
  writeFileSync(
    join(at, "index.mjs"),
    `${top}\nexport default { kind: "${kind}", name: "${name}", version: "1.0.0", svc: "*", capabilities: ${JSON.stringify(capabilities)}, ${plugin}\nsetup(ctx) {\n${setup}\n} };\n`,
  );
  return `process:./${name}`;
}

/** An action of any input that answers what `body` returns. */
export const action = (name: string, body: string): string =>
  `ctx.provide.action({ name: "${name}", description: "For a test.", timeoutMs: 20_000, input: { type: "object", additionalProperties: true }, output: {}, async run(input, call) { ${body} } });`;

/** Short pauses: a test waits for none that is meant for people. */
export const QUICK = { firstPauseMs: 50, longestPauseMs: 400, pingMs: 100, missedPings: 100, steadyMs: 60_000, stopMs: 1_000, leaveMs: 500, termMs: 500 };

export interface IsolatedRun extends Running {
  readonly folder: string;
  readonly actions: Actions;
  /** The status of a plugin by its id. */
  status(id: string): PluginStatus;
  /** Calls an action; its output, or an error with the envelope's words. */
  act(name: string, input?: object): Promise<unknown>;
}

/** A running kernel with isolated plugins, a way to call actions, and limits that a test can wait for. */
export async function runIsolated(
  laid: readonly Laid[],
  { isolation = {}, inline = [], limits = {}, ...options }: RunOptions & { readonly isolation?: object } = {},
): Promise<IsolatedRun> {
  const folder = options.folder ?? (await temporaryFolder());
  const plugins = laid.map((one) => lay(folder, one));
  let actions: Actions | undefined;
  const caller = {
    kind: "feature",
    name: "caller",
    version: "1.0.0",
    svc: "*",
    capabilities: ["actions"],
    setup(ctx: { actions: Actions }) {
      actions = ctx.actions;
    },
  } as unknown as Plugin<never>;
  const running = await runKernel({
    // With bubblewrap on it, that is tried too.
    env: { PATH: process.env.PATH },
    ...options,
    folder,
    config: { plugins, ...options.config },
    inline: [caller, ...inline],
    limits: { ...limits, isolation: { ...QUICK, ...isolation } },
  });
  const { kernel } = running;
  return {
    ...running,
    folder,
    actions: actions as Actions,
    status: (id) => statusOf(kernel, id),
    async act(name, input = {}) {
      const { status, output, error } = await (actions as Actions).run(name, input, { door: "cli" });
      if (status === "error") throw new Error(error);
      return output;
    },
  };
}

export function statusOf(kernel: Pick<Kernel, "health">, id: string): PluginStatus {
  const found = kernel.health().plugins.find((plugin) => plugin.id === id);
  if (found === undefined) throw new Error(`there is no plugin ${id}`);
  return found;
}

/** Processes of isolated plugins that this process has started. */
export function isolatedChildren(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => alive(pid) && parentOf(pid) === process.pid && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("isolation/child-main.js"));
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Does that process still run? */
export function alive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
