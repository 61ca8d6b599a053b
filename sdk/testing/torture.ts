import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Capability } from "../capabilities.ts";

/**
 * Expected result for the host. `failed`: the plugin is listed as failed, with a reason. `running`: it runs on, its failures are counted.
 * `quarantined`: the process dies, and the next start skips the plugin. In each case everything else works.
 */
export type TortureEnd = "failed" | "running" | "quarantined";

/** One misbehaving plugin that a host of plugins must withstand. */
export interface TortureCase {
  /** Lower-case words with `-`; the plugin is called `feature-torture-<name>`. */
  readonly name: string;
  /** Description of its misbehaviour, for people. */
  readonly does: string;
  readonly ends: TortureEnd;
  readonly capabilities: readonly Capability[];
  /** The whole module. */
  readonly source: string;
}

const CASES: readonly (Omit<TortureCase, "source" | "capabilities"> & {
  capabilities?: readonly Capability[];
  top?: string;
  setup?: string;
  whole?: string;
})[] = [
  { name: "throws-at-load", does: "throws at its top level", ends: "failed", top: `throw new Error("broken at load");` },
  { name: "syntax-error", does: "is no JavaScript", ends: "failed", whole: "export default { this is no module" },
  { name: "no-plugin", does: "exports something else", ends: "failed", whole: "export default 42;" },
  { name: "never-loads", does: "waits for ever at its top level", ends: "failed", top: "await new Promise(() => setInterval(() => {}, 60_000).unref());" },
  { name: "throws-in-setup", does: "throws in setup", ends: "failed", setup: `throw new Error("broken in setup");` },
  { name: "throws-nothing", does: "throws undefined in setup", ends: "failed", setup: "throw undefined;" },
  { name: "setup-never-ends", does: "returns a promise from setup that never resolves", ends: "failed", setup: "return new Promise(() => {});" },
  { name: "start-throws", does: "fails to start", ends: "failed", setup: `return { start: async () => { throw new Error("broken in start"); } };` },
  { name: "start-never-ends", does: "never finishes its start", ends: "failed", setup: "return { start: () => new Promise(() => {}) };" },
  { name: "stop-never-ends", does: "never finishes its stop", ends: "running", setup: "return { stop: () => new Promise(() => {}) };" },
  { name: "exits-at-load", does: "ends the process at its top level", ends: "failed", top: "process.exit(3);" },
  { name: "exits-in-setup", does: "ends the process in setup, past process.exit", ends: "failed", setup: "process.reallyExit(3);" },
  { name: "exits-later", does: "ends the process from a timer", ends: "running", setup: "setTimeout(() => process.exit(3), 5);" },
  {
    name: "dies-in-start",
    does: "breaks the process itself, as bad native code does",
    ends: "quarantined",
    setup: `return { start: async () => process.kill(process.pid, "SIGSEGV") };`,
  },
  { name: "spins-in-setup", does: "never gives the processor back, in setup", ends: "quarantined", setup: "for (;;);" },
  { name: "spins-later", does: "never gives the processor back, in a timer", ends: "quarantined", setup: "setTimeout(() => { for (;;); }, 500);" },
  { name: "throws-in-timer", does: "throws in a timer", ends: "running", setup: `setTimeout(() => { throw new Error("late: timer"); }, 5);` },
  {
    name: "rejects-unheard",
    does: "leaves a rejected promise behind",
    ends: "running",
    setup: `void Promise.resolve().then(() => { throw new Error("late: promise"); });`,
  },
  { name: "throws-in-microtask", does: "throws in a microtask", ends: "running", setup: `queueMicrotask(() => { throw new Error("late: microtask"); });` },
  {
    name: "throws-in-file-callback",
    does: "throws when a file was read",
    ends: "running",
    top: `import { readFile } from "node:fs";`,
    setup: `readFile(new URL(import.meta.url), () => { throw new Error("late: file"); });`,
  },
  {
    name: "throws-in-socket",
    does: "does not listen to the errors of its socket",
    ends: "running",
    top: `import { connect } from "node:net";`,
    setup: `connect({ host: "127.0.0.1", port: 1 });`,
  },
  {
    name: "fails-each-message",
    does: "throws in each hook of a message",
    ends: "running",
    setup: `const fail = () => { throw new Error("broken hook"); };
    for (const hook of Object.values(ctx.hooks)) hook.tap(fail);`,
  },
  {
    name: "holds-each-message",
    does: "never answers in the hooks of a message",
    ends: "running",
    setup: `for (const hook of ["inbound", "route", "assembleContext", "dispatch", "deliver"]) ctx.hooks[hook].tap(() => new Promise(() => {}), { timeoutMs: 20 });`,
  },
  {
    name: "answers-with-traps",
    does: "answers hooks with objects whose getters throw",
    ends: "running",
    setup: `const trap = () => new Proxy({}, { get() { throw new Error("trap"); }, has() { throw new Error("trap"); }, ownKeys() { throw new Error("trap"); } });
    for (const hook of ["inbound", "route", "assembleContext", "dispatch", "deliver"]) ctx.hooks[hook].tap(trap);`,
  },
  {
    name: "answers-in-circles",
    does: "answers hooks and its action with objects that contain themselves",
    ends: "running",
    setup: `const ring = {}; ring.ring = ring;
    for (const hook of ["inbound", "route", "assembleContext", "dispatch", "deliver"]) ctx.hooks[hook].tap(() => ring);
    ctx.provide.action({ name: "torture.ring", description: "Answers a ring.", timeoutMs: 1000, input: { type: "object" }, output: {}, run: async () => ring });`,
  },
  {
    name: "answers-hugely",
    does: "answers its action with a text of 64 MB",
    ends: "running",
    setup: `ctx.provide.action({ name: "torture.huge", description: "Answers too much.", timeoutMs: 5000, input: { type: "object" }, output: { type: "string" }, run: async () => "x".repeat(64 * 1024 * 1024) });`,
  },
  {
    name: "leaves-all-behind",
    does: "registers all it can and has no stop",
    ends: "running",
    capabilities: ["events", "jobs"],
    setup: `ctx.events.subscribe(() => {});
    ctx.jobs.every(60_000, () => {});
    ctx.jobs.after(60_000, () => {});
    ctx.jobs.cron("torture", "* * * * *", undefined, async () => {});
    for (const hook of Object.values(ctx.hooks)) hook.tap((first) => undefined);
    ctx.provide.action({ name: "torture.left", description: "Is left behind.", timeoutMs: 1000, input: { type: "object" }, output: {}, run: async () => 1 });`,
  },
];

/** The misbehaving plugins for testing a host. Plain modules: they import nothing but Node. */
export const tortureCases: readonly TortureCase[] = CASES.map(({ top = "", setup = "", whole, capabilities = [], ...rest }) => ({
  ...rest,
  capabilities,
  source: whole ?? moduleText(rest.name, capabilities, top, setup),
}));

/** Writes one of them as a package into `folder`, which is made. */
export function writeTorture(folder: string, { name, capabilities, source }: TortureCase): void {
  mkdirSync(folder, { recursive: true });
  const svc = { api: 1, kind: "feature", name: `torture-${name}`, entry: "./index.mjs", activate: "always", capabilities, startTimeoutMs: 1_000 };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: `svc-plugin-torture-${name}`, version: "1.0.0", type: "module", svc }, null, 2));
  writeFileSync(join(folder, "index.mjs"), source);
}

function moduleText(name: string, capabilities: readonly Capability[], top: string, setup: string): string {
  return `${top}
export default {
  kind: "feature",
  name: "torture-${name}",
  version: "1.0.0",
  svc: "*",
  capabilities: ${JSON.stringify(capabilities)},
  setup(ctx) {
    ${setup}
  },
};
`;
}
