import { existsSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Trace } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { endDaemons, startDaemon } from "../faults/daemon.harness.ts";
import { ROOT } from "../house/house.ts";
import { openShell, type Shell } from "../kit/svc.ts";

const PROGRAM = join(ROOT, "cli/bin/svc.cjs");
const PATIENCE = { timeout: 40_000, interval: 50 };

const clients: Client[] = [];

/** An engine whose agents start the program of the command line for what they ask (`cli <agent> <rest>`), or wait while the file `gate` is there. */
const ENGINE = `
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const send = (agent, text, task) =>
  new Promise((resolve) =>
    execFile(process.execPath, [${JSON.stringify(PROGRAM)}, "daemon", "send", agent, text, "--chat", task], { env: { ...process.env, SVC_TASK_ID: task } }, (error, out, err) =>
      resolve(error ? "FAILED " + err : out.trim()),
    ),
  );
export default {
  kind: "tier", name: "engine", version: "1.0.0", svc: "*", capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name: "engine",
      async *run(turn, { prompt }, signal) {
        const words = turn.messages[0].text;
        const [way, agent, ...rest] = words.split(" ");
        while (words === "hold" && existsSync(process.env.GATE) && !signal.aborted) await pause(20);
        yield { type: "text", text: way === "cli" ? await send(agent, rest.join(" "), turn.id) : turn.agent.id + " says " + words };
        yield { type: "done" };
      },
    });
  },
};
`;

let folder: string;
let gate: string;
let shell: Shell;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-knowledge-mcp-"));
  gate = join(folder, "gate");
  shell = await openShell({ GATE: gate }, folder);
  const agent = (id: string, more: object = {}) => ({ name: id, workspace: "./w", tier: "engine", ...more });
  writeFileSync(join(folder, "engine.mjs"), ENGINE);
  shell.write({
    node: { id: "test", name: "Test", bind: "127.0.0.1:0", defaultAgent: "a" },
    plugins: ["./engine.mjs"],
    agents: { a: agent("a"), b: agent("b", { maxConcurrent: 4 }), c: agent("c", { maxDelegationDepth: 2 }) },
  });
  await startDaemon(folder, { env: { GATE: gate } });
});
const close = () => writeFileSync(gate, "");
const open = () => rmSync(gate, { force: true });
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  open();
});
afterAll(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, force: true });
});

async function connect(): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const env = { PATH: process.env.PATH ?? "", SVC_CONFIG: join(folder, "svc.json") };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM, "mcp", "--agent", "a"], env }) as never);
  clients.push(client);
  return client;
}

/** The tasks since now, each as its agent, its status and how it failed. */
async function tasksFromNow(): Promise<() => Promise<string[]>> {
  const traces = async () => (await shell.ask<{ traces: readonly Trace[] }>("/traces")).traces;
  const before = new Set((await traces()).map(({ id }) => id));
  const later = async () => (await traces()).filter(({ id }) => !before.has(id));
  return async () => (await later()).map(({ agent, status, errorKind = "" }) => [agent, status, errorKind].join(" "));
}

const textOf = (answer: unknown) => (answer as { content: readonly { text: string }[] }).content[0]?.text ?? "";

it("an MCP client of svc mcp lists and calls the actions of its agent, and hears that a long call goes on", async () => {
  const client = await connect();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["agent_call", "svc_task_result"]));
  const said = await client.callTool({ name: "agent_call", arguments: { agentId: "b", message: "hello" } });
  expect(JSON.parse(textOf(said))).toMatchObject({ agentId: "b", reply: "b says hello" });
  close();
  // It ends when the client has heard of it: without a word on the way it would wait for ever.
  const heard: string[] = [];
  const onprogress = ({ message }: { message?: string | undefined }) => {
    heard.push(message ?? "");
    open();
  };
  const held = await client.callTool({ name: "agent_call", arguments: { agentId: "b", message: "hold" } }, undefined, { onprogress });
  expect(JSON.parse(textOf(held))).toMatchObject({ reply: "b says hold" });
  expect(heard[0]).toMatch(/^agent_call is under way, \d+ s$/);
});

it("a call that its client cancels is ended, with the task of the agent that was asked", async () => {
  const client = await connect();
  const kinds = await tasksFromNow();
  close();
  const nobody = new AbortController();
  const cancelled = client.callTool({ name: "agent_call", arguments: { agentId: "b", message: "hold" } }, undefined, { signal: nobody.signal });
  await vi.waitFor(async () => expect(await kinds()).toEqual(["b in-flight "]), PATIENCE);
  nobody.abort("never mind");
  await expect(cancelled).rejects.toThrow();
  await vi.waitFor(async () => expect(await kinds()).toContain("b error cancelled"), PATIENCE);
});

it("kill -9 of the daemon while a call waits: the client is told at once, and the same tools server goes on with the next daemon", async () => {
  const client = await connect();
  const kinds = await tasksFromNow();
  close();
  const waiting = client.callTool({ name: "agent_call", arguments: { agentId: "b", message: "hold" } });
  await vi.waitFor(async () => expect(await kinds()).toEqual(["b in-flight "]), PATIENCE);
  process.kill(shell.pid(), "SIGKILL");
  expect(await waiting).toMatchObject({ isError: true, content: [{ type: "text", text: expect.stringMatching(/daemon|socket|ECONNRESET/) }] });
  await startDaemon(folder, { env: { GATE: gate } });
  open();
  expect(existsSync(gate)).toBe(false);
  const said = await client.callTool({ name: "agent_call", arguments: { agentId: "b", message: "again" } });
  expect(JSON.parse(textOf(said))).toMatchObject({ reply: "b says again" });
});

it("RUN-10 over the command line: a loop ends with words that name the chain, and depth counts the others", async () => {
  const say = async (text: string) => {
    const { out, err } = await shell.svc("daemon", "send", "a", text);
    return out + err;
  };
  expect(await say("cli b hello")).toContain("b says hello");
  expect(await say("cli b cli a hello")).toContain("Agent a is not asked: it waits for this answer itself (a -> b -> a)");
  expect(await say("cli b cli c hello")).toContain("maxDelegationDepth is 2");
});
