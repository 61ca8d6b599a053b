import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createKernel } from "@svc/kernel";
import type { TaskEvent } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { APIS, providersOf, server, stage, stepsOf } from "./model-tiers.harness.ts";

const MCP = fileURLToPath(new URL("fixtures/tool-server.mjs", import.meta.url));
const tierFolder = (name: string) => fileURLToPath(new URL(`../../plugins/tiers/${name}`, import.meta.url));

it("an agent changes its tier by one word, and keeps the keys of the others meanwhile", async () => {
  const replies: string[] = [];
  for (const tier of ["local", "sdk", "orchestrator"]) {
    const kernel = await createKernel({
      config: {
        node: { id: "n1", name: "Node 1" },
        providers: providersOf("openai"),
        agents: { a: { name: "A", workspace: "./w", tier, provider: "mine", model: "fake-1", local: {}, orchestrator: { maxSteps: 3 } } },
      },
      folder: await temporaryFolder(),
      known: ["../features/models", "local", "sdk", "orchestrator"].map(tierFolder),
    });
    await kernel.start();
    const { ok, reply, error } = await kernel.tasks.run({ entry: "task", channel: "http", chat: "c", text: "/help", agent: "a" });
    replies.push(ok ? reply : `failed: ${error}`);
    await kernel.stop({ drainSeconds: 0 });
  }
  expect(replies).toEqual([expect.stringContaining("/status  what I am"), "ECHO: /help", "ECHO: /help"]);
});

describe.each(APIS)("the tool loop on the %s API", (api) => {
  const loop = (agent: object = {}, more: object = {}) =>
    stage("orchestrator", {
      providers: providersOf(api, more),
      agent: { orchestrator: { actions: ["math.*"], ...(agent as { orchestrator?: object }).orchestrator }, ...without(agent) },
    });
  const without = ({ orchestrator: _, ...rest }: { orchestrator?: object }) => rest;

  it("runs calls side by side, answers the model in order, and tells each as a step", async () => {
    const { ask, calls } = await loop();
    // The action comes back only when two calls are inside of it.
    const { reply, trace, usage, taskId } = await ask('CALL:math_add:{"a":2,"b":1} CALL:math_add:{"a":2,"b":40} TOGETHER', { options: { chain: ["bob"] } });
    expect(reply).toBe("RESULT: 42");
    expect(calls.map(({ input }) => input)).toEqual([
      { a: 2, b: 1 },
      { a: 2, b: 40 },
    ]);
    expect(calls[0]?.call).toEqual({ door: "agent", agent: "a", taskId, chain: ["bob"] });
    expect(server.requests.at(-1)?.conversation?.results).toEqual(["3", "42"]);
    expect(stepsOf(trace)).toMatchObject([
      { name: "math.add", input: "a: 2, b: 1", output: "3", durationMs: expect.any(Number) },
      { name: "math.add", input: "a: 2, b: 40", output: "42" },
    ]);
    // Each once, with the whole call: told by the tier while it runs, recorded by the daemon.
    expect(trace.steps.filter(({ kind }) => kind === "action")).toEqual([]);
    expect(stepsOf(trace).map(({ envelope }) => envelope)).toMatchObject([
      { action: "math.add", status: "ok", input: { a: 2, b: 1 }, output: 3 },
      { action: "math.add", status: "ok", input: { a: 2, b: 40 }, output: 42 },
    ]);
    const alone = await ask("hello");
    expect(usage?.input).toBeGreaterThan((alone.usage?.input ?? 0) * 1.5);
  });

  it("goes on over several steps, and gives a failure back to the model", async () => {
    const { ask } = await loop();
    const { reply, trace } = await ask('CALL:math_add:{"a":404,"b":2} CALL:math_add:{"a":"x"} CALL:math_add:{"a":1,"b":1}');
    expect(reply).toBe("RESULT: 2");
    expect(stepsOf(trace).map(({ error, output }) => error ?? output)).toEqual(["no such number", expect.stringContaining("Action math.add"), "2"]);
    expect(server.requests).toHaveLength(4);
  });

  it("offers only the actions that the agent may use, by default none, and runs no other", async () => {
    const { ask, calls } = await loop();
    const { ok, trace } = await ask('CALL:secret_read:{"a":1,"b":2}');
    expect(ok).toBe(true);
    expect(server.requests[0]?.conversation?.tools).toEqual(["math_add"]);
    expect(stepsOf(trace)).toMatchObject([{ name: "secret_read", error: expect.stringContaining("secret_read") }]);
    expect(calls).toEqual([]);
    const closed = await loop({ orchestrator: { actions: [] } });
    await closed.ask("hello");
    expect(server.requests.at(-1)?.conversation?.tools).toEqual([]);
    const planning = await loop({ permissionMode: "plan" });
    await planning.ask("hello");
    expect(server.requests.at(-1)?.conversation?.tools).toEqual([]);
  });

  it("ENG-11 a run that is cancelled in its second call has the tokens of the first in its trace", async () => {
    const { ask, kernel } = await loop();
    const stop = (event: TaskEvent) =>
      event.type === "step" && event.step.phase === "end" && void setTimeout(() => kernel.tasks.cancel(kernel.tasks.running()[0]!.id), 300);
    const { errorKind, trace } = await ask('CALL:math_add:{"a":1,"b":2} HANG', {}, undefined, stop);
    expect(errorKind).toBe("cancelled");
    expect(trace.usage?.input).toBeGreaterThan(0);
    await expect.poll(() => server.open).toBe(0);
  });

  it("ends at its step limit with an error that names the setting", async () => {
    const { ask, calls } = await loop({ orchestrator: { actions: ["*"], maxSteps: 2 } });
    const { ok, errorKind, error, usage } = await ask(Array.from({ length: 5 }, () => 'CALL:math_add:{"a":1,"b":2}').join(" "));
    expect({ ok, errorKind }).toEqual({ ok: false, errorKind: "step-limit" });
    expect(error).toContain("agents.a.orchestrator.maxSteps");
    expect(server.requests).toHaveLength(2);
    expect(calls).toHaveLength(1);
    expect(usage?.input).toBeGreaterThan(0);
  });

  it("toolUseRequired knows the actions by their names", async () => {
    const { ask } = await loop({ toolUseRequired: ["math.add"] });
    expect(await ask("hello")).toMatchObject({ ok: false, errorKind: "tool_required_not_called" });
    expect(await ask('CALL:math_add:{"a":1,"b":2}')).toMatchObject({ ok: true });
  });

  it("tells what the model thinks where the provider is set to it, also across tool calls", async () => {
    const thoughts = (heard: TaskEvent[]) => heard.flatMap((event) => (event.type === "thinking" ? [event.text] : []));
    const open = await loop({}, { thinking: true });
    const { heard, reply, ok } = await open.ask('THINK CALL:math_add:{"a":1,"b":2}');
    expect({ ok, reply }).toEqual({ ok: true, reply: "RESULT: 3" });
    expect(thoughts(heard)).toEqual(["Weighing the words.", "Weighing the words."]);
    const silent = await loop();
    expect(thoughts((await silent.ask("THINK hello")).heard)).toEqual([]);
  });
});

describe("tool servers", () => {
  const withServers = async (mcp: object, orchestrator: object = {}) => {
    const workspace = await temporaryFolder();
    const running = await stage("orchestrator", { agent: { workspace, mcp, orchestrator, maxConcurrent: 2 } });
    return { ...running, workspace };
  };
  const adding = { command: process.execPath, args: [MCP, "add"] };

  it("offers the tools of a real server and calls them; servers written into the workspace count too", async () => {
    const { ask, workspace } = await withServers({ sums: adding });
    await writeFile(join(workspace, ".mcp.json"), JSON.stringify({ mcpServers: { more: adding } }));
    const { reply, trace } = await ask('CALL:mcp__sums__add:{"a":40,"b":2} CALL:mcp__more__add:{"a":1,"b":1} CALL:mcp__sums__fail:{}');
    expect(reply).toBe("RESULT: it is not my day");
    expect(stepsOf(trace)).toMatchObject([
      { name: "mcp__sums__add", output: "42" },
      { name: "mcp__more__add", output: "2" },
      { name: "mcp__sums__fail", error: "it is not my day" },
    ]);
  });

  it("FAULT-74 goes on without a server that hangs, dies, does not exist or is nonsense, and names each in the trace", async () => {
    const { ask } = await withServers(
      {
        sums: adding,
        hanging: { command: process.execPath, args: [MCP, "hang"] },
        dying: { command: process.execPath, args: [MCP, "die"] },
        absent: { command: "/nowhere/at/all" },
        web: { type: "http", url: "http://127.0.0.1:1/mcp" },
      },
      { serverTimeoutSeconds: 2 },
    );
    const first = await ask('CALL:mcp__sums__add:{"a":40,"b":2}');
    expect(first.reply).toBe("RESULT: 42");
    const errors = Object.fromEntries(stepsOf(first.trace).flatMap(({ name, error }) => (error === undefined ? [] : [[name, error]])));
    expect(errors).toEqual({
      mcp__hanging: "it was not ready after 2 s",
      mcp__dying: "it ended with exit code 3. no luck today",
      mcp__absent: expect.stringContaining("there is no such file"),
      mcp__web: expect.any(String),
    });
  });

  it("FAULT-74 a .mcp.json that cannot be read is named in the trace, and the servers of the configuration are there", async () => {
    const { ask, workspace } = await withServers({ sums: adding });
    await writeFile(join(workspace, ".mcp.json"), "{ broken");
    const { reply, trace } = await ask('CALL:mcp__sums__add:{"a":40,"b":2}');
    expect(reply).toBe("RESULT: 42");
    expect(stepsOf(trace)).toMatchObject([{ name: ".mcp.json", error: expect.any(String) }, { name: "mcp__sums__add" }]);
  });

  it("FAULT-74 a server that dies in the middle of a turn fails its calls and not the turn", async () => {
    const { ask } = await withServers({ sums: adding });
    const { ok, trace } = await ask('CALL:mcp__sums__die:{} CALL:mcp__sums__add:{"a":1,"b":1}');
    expect(ok).toBe(true);
    expect(stepsOf(trace).map(({ error }) => error !== undefined)).toEqual([true, true]);
  });

  it("FAULT-74 a call that hangs ends with the turn, and no process stays behind", async () => {
    const { ask, kernel } = await withServers({ sums: adding });
    const inHang = (event: TaskEvent) => event.type === "step" && event.step.name === "mcp__sums__hang";
    const stop = (event: TaskEvent) => inHang(event) && void kernel.tasks.cancel(kernel.tasks.running()[0]!.id);
    const { ok, errorKind, trace } = await ask("CALL:mcp__sums__pid:{} CALL:mcp__sums__hang:{}", {}, undefined, stop);
    expect({ ok, errorKind }).toEqual({ ok: false, errorKind: "cancelled" });
    const pid = Number(stepsOf(trace)[0]?.output);
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false);
  });

  it("ENG-14 a server stays ready between turns, is replaced when it has died or is configured anew, and ends with the daemon", async () => {
    const { ask, workspace, kernel } = await withServers({ sums: adding });
    const pidOf = async (words = "") =>
      Number(stepsOf((await ask(`CALL:mcp__sums__pid:{} ${words}`)).trace).find(({ name }) => name === "mcp__sums__pid")?.output);
    const gone = (pid: number) => expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false);
    const first = await pidOf();
    expect(first).toBeGreaterThan(1);
    expect(await pidOf()).toBe(first);
    await ask("CALL:mcp__sums__die:{}");
    const second = await pidOf();
    expect(second).not.toBe(first);
    await writeFile(join(workspace, ".mcp.json"), JSON.stringify({ mcpServers: { sums: { ...adding, env: { CHANGED: "1" } } } }));
    const third = await pidOf();
    expect(third).not.toBe(second);
    await gone(second);
    await kernel.stop({ drainSeconds: 0 });
    await gone(third);
  });

  it("ENG-14 turns of one agent side by side do not share a server", async () => {
    const { ask } = await withServers({ sums: adding }, {});
    const pids = (await Promise.all([ask("CALL:mcp__sums__pid:{} one", { chat: "c1" }), ask("CALL:mcp__sums__pid:{} two", { chat: "c2" })])).map(
      ({ trace }) => stepsOf(trace)[0]?.output,
    );
    expect(new Set(pids).size).toBe(2);
  });
});
