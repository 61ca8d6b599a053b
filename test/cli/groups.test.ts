import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { main } from "../../cli/dist/main.js";
import { openShell, type Shell } from "../kit/svc.ts";

/** The groups of the contract with the subcommands and flags that it states (000:L235, L310, 001:L9), and those that it only mentions. */
const CONTRACT: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  setup: {},
  init: {},
  daemon: { start: [], stop: [], status: [], logs: [], watch: [], send: ["--peer"], deploy: [] },
  agent: { list: [], add: [], remove: [], capability: [] },
  channel: {},
  connect: {},
  cron: {},
  schedule: { list: [], on: [], off: [], remove: [], parse: [], approve: [], reject: [] },
  mesh: { list: [], add: [], remove: [], announce: ["--by <name>"] },
  token: { create: ["--name", "--scope", "--expires <days>"], list: [], revoke: [] },
  attach: { detach: [] },
  actions: { builtin: [], add: [], run: [] },
  trace: { list: [], show: [], replay: [] },
  ledger: {},
  guard: {},
  db: {},
  backlog: {},
  business: {},
  references: {},
  skill: { list: [], show: [], promote: [], reject: [] },
  board: {},
  workflow: {},
  config: { check: [], get: [], set: [], show: [] },
  phonemsg: {},
  bench: { context: [] },
  completion: {},
  exec: {},
  doctor: {},
  notify: {},
  a2a: {},
  dashboard: {},
};

/** Groups that are one command, or for which another word is an argument: what they are refused is an option that they have not. */
const WITHOUT_SUBCOMMANDS = new Set([
  "setup",
  "init",
  "connect",
  "attach",
  "schedule",
  "backlog",
  "phonemsg",
  "completion",
  "exec",
  "doctor",
  "notify",
  "a2a",
  "dashboard",
]);

/** What prints data, on a daemon with a section for each of them. */
const PRINTING: readonly (readonly string[])[] = [
  ["daemon", "status"],
  ["agent", "list"],
  ["agent", "capability", "echo"],
  ["agent", "memory", "list", "echo"],
  ["channel", "list"],
  ["cron", "list"],
  ["schedule", "list"],
  ["schedule", "parse", "every day at 9: hello"],
  ["mesh", "list"],
  ["token", "list"],
  ["attach", "list"],
  ["actions", "builtin"],
  ["actions", "list"],
  ["trace", "list"],
  ["task", "list"],
  ["ledger", "list"],
  ["guard", "log"],
  ["db", "check"],
  ["db", "status"],
  ["backlog"],
  ["business", "list"],
  ["business", "org"],
  ["references", "list", "echo"],
  ["skill", "list"],
  ["board", "list"],
  ["workflow", "list"],
  ["workflow", "runs"],
  ["config", "get", "node.id"],
  ["config", "show"],
  ["config", "describe", "node"],
  ["plugin", "list"],
  ["budgets"],
  ["graph", "list"],
  ["approval", "list"],
  ["webhook", "list"],
];

let shell: Shell;
beforeAll(async () => {
  shell = await openShell({}, mkdtempSync(join(tmpdir(), "svc-groups-")));
  shell.write({
    node: { id: "test", name: "Test", bind: "127.0.0.1:0", defaultAgent: "echo" },
    agents: { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo" } }, held: { name: "Held", workspace: "./v", tier: "cli-a" } },
    business: { enabled: true },
    mesh: { enabled: true },
    graph: { enabled: true },
    approvals: {},
    budgets: {},
    webhooks: [],
    crons: {},
    boards: [],
    procedures: {},
    workflows: { enabled: true },
  });
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
}, 60_000);
afterAll(async () => {
  await shell.end();
  rmSync(shell.folder, { recursive: true, force: true, maxRetries: 5 });
}, 60_000);

/** The program in this process: a new one for each of some hundred lines would take a minute. */
async function svc(...line: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const [out, err] = [process.stdout.write, process.stderr.write];
  const listeners = process.stdout.listeners("error");
  const keep = (stream: keyof typeof said) => (text: string) => {
    said[stream] += text;
    return true;
  };
  process.stdout.write = keep("out") as never;
  process.stderr.write = keep("err") as never;
  try {
    const code = await main(line, { ...process.env, SVC_CONFIG: join(shell.folder, "svc.json") });
    return { code, ...said };
  } finally {
    process.stdout.write = out;
    process.stderr.write = err;
    for (const listener of process.stdout.listeners("error")) if (!listeners.includes(listener)) process.stdout.off("error", listener as never);
    process.exitCode = undefined;
  }
}

const named = (help: string): readonly string[] => [...help.matchAll(/^ {2}([a-z0-9]\S*)/gm)].map(([, name]) => name as string);

it("CLI-01 svc --help lists every group of the contract", async () => {
  const { code, out } = await svc("--help");
  expect(code).toBe(0);
  expect(named(out)).toEqual(expect.arrayContaining(Object.keys(CONTRACT)));
});

describe.each(Object.entries(CONTRACT))("svc %s", (group, subcommands) => {
  it("CLI-01 CLI-03 answers --help, and lists what the contract states", async () => {
    const { code, out, err } = await svc(group, "--help");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`Usage: svc ${group}`);
    expect(out).toContain("--json");
    expect(named(out)).toEqual(expect.arrayContaining(Object.keys(subcommands)));
    for (const [name, flags] of Object.entries(subcommands)) {
      const help = await svc(group, name, "--help");
      expect({ code: help.code, err: help.err }, name).toEqual({ code: 0, err: "" });
      for (const flag of [...flags, "--json"]) expect(help.out, name).toContain(flag);
    }
  });

  it("refuses what it does not know with 2 and a hint, under --json as JSON", async () => {
    const unknown = WITHOUT_SUBCOMMANDS.has(group) ? "--nosuch" : "nosuch";
    const [said, json] = [await svc(group, unknown), await svc("--json", group, unknown)];
    expect({ code: said.code, out: said.out }).toEqual({ code: 2, out: "" });
    expect(said.err).toContain(unknown);
    expect(said.err).toContain("--help lists what is possible");
    expect({ code: json.code, out: json.out }).toEqual({ code: 2, out: "" });
    expect(JSON.parse(json.err)).toMatchObject({ code: "SVC_CLI_USAGE", error: expect.stringContaining(unknown) });
  });
});

it.each(PRINTING.map((line) => [line.join(" "), line] as const))("svc %s --json prints JSON alone", async (_words, line) => {
  const { code, out, err } = await svc(...line, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(() => JSON.parse(out), out.slice(0, 200)).not.toThrow();
});
