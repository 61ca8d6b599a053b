import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import readLines from "@svc/action-file-read-lines";
import operatorActions from "@svc/feature-operator-actions";
import { type Action, type ActionEnvelope, definePlugin, type Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";

it("ACT-07 answers the envelope over HTTP and keeps each call as a step in a trace", async () => {
  const [dataFolder, root] = [await temporaryFolder(), await temporaryFolder()];
  await mkdir(join(dataFolder, "actions"));
  await writeFile(join(dataFolder, "actions/say.json"), JSON.stringify({ kind: "shell", command: "printf %s {{x}}", inputs: [{ name: "x", required: true }] }));
  await writeFile(join(root, "lines.txt"), "one\ntwo\n");
  const { kernel } = await runKernel({
    dataFolder,
    env: { PATH: process.env["PATH"] ?? "", SVC_BUILTIN_FILE_ROOTS: root },
    listen: true,
    inline: [readLines, operatorActions] as Plugin<never>[],
  });
  const base = baseOf(kernel);
  const read = await post(base, "/api/actions/builtin/file.read_lines", { path: "lines.txt" });
  expect(read).toEqual({
    status: 200,
    body: { action: "file.read_lines", status: "ok", input: { path: "lines.txt" }, output: ["one", "two"], durationMs: expect.any(Number) },
  });
  const refused = await post(base, "/api/actions/builtin/file.read_lines", { path: "../x" });
  expect(refused).toMatchObject({ status: 200, body: { status: "error", error: expect.stringContaining("outside") } });
  expect(await post(base, "/api/actions/say/run", { x: "it's; me" })).toMatchObject({ status: 200, body: { ok: true, status: 0, output: "it's; me" } });
  expect((await post(base, "/api/actions/say/run", {})).status).toBe(400);
  expect((await post(base, "/api/actions/builtin/say", {})).status).toBe(404);
  expect(await (await fetch(`${base}/api/actions/builtin`)).json()).toMatchObject({ actions: [{ name: "file.read_lines" }] });
  const steps = (await kernel.traces.list()).map(({ channel, status, steps }) => [
    channel,
    status,
    ...steps.map(({ kind, name, envelope, error }) => [kind, name, envelope?.status, error]),
  ]);
  expect(steps).toHaveLength(3);
  // By set: calls of one millisecond have no order.
  for (const step of [
    ["http", "ok", ["action", "say", "ok", undefined]],
    ["http", "error", ["action", "file.read_lines", "error", expect.stringContaining("outside")]],
    ["http", "ok", ["action", "file.read_lines", "ok", undefined]],
  ]) {
    expect(steps).toContainEqual(step);
  }
});

/** A plugin with these actions, and a way to call them and see what is counted against it. */
async function actionsOf(...actions: readonly (Pick<Action, "name" | "run"> & Partial<Action>)[]) {
  let run: (name: string, input: unknown) => Promise<{ status: string; error?: string; output?: unknown }> = () => Promise.reject(new Error("not set up"));
  const plugin = definePlugin({
    kind: "action",
    name: "inline",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["actions"],
    setup(ctx) {
      for (const action of actions) ctx.provide.action({ description: "", input: { type: "object" }, output: {}, timeoutMs: 1000, ...action });
      run = (name, input) => ctx.actions.run(name, input, { door: "http" });
    },
  });
  const { kernel } = await runKernel({ inline: [plugin] });
  return {
    run: (name: string, input: unknown = {}) => run(name, input),
    failures: () => kernel.health().plugins.find(({ id }) => id === "action-inline")?.failures,
  };
}

it("FAULT-66 an action that does not answer in time counts against its plugin; a refused input and the action's own coded error do not", async () => {
  const coded = Object.assign(new Error("no such host"), { code: "SVC_FETCH_FAILED" });
  const { run, failures } = await actionsOf(
    { name: "deaf", timeoutMs: 20, run: () => new Promise(() => {}) },
    { name: "picky", run: () => Promise.reject(coded) },
  );
  expect((await run("picky", { unknown: 1 })).status).toBe("error");
  expect((await run("picky")).error).toBe("no such host");
  expect(failures()).toBe(0);
  expect((await run("deaf")).error).toMatch(/deaf.*20 ms/);
  expect(failures()).toBe(1);
});

it("refuses keys that an action does not list, in what comes in and in what goes out", async () => {
  const calls: unknown[] = [];
  const shape = { type: "object", properties: { a: { type: "string" }, free: { type: "object", additionalProperties: true } } } as const;
  const { run } = await actionsOf({
    name: "strict",
    input: shape,
    output: shape,
    run: async (input) => {
      calls.push(input);
      return input["a"] === "more" ? { a: "x", b: 1 } : input;
    },
  });
  expect(await run("strict", { a: "x", free: { any: [1] } })).toMatchObject({ status: "ok", output: { a: "x", free: { any: [1] } } });
  expect(calls.splice(0)).toHaveLength(1);
  expect((await run("strict", { a: "x", b: 1 })).error).toContain("'b'");
  expect((await run("strict", { a: 1 })).error).toContain("a must be string");
  expect(calls).toEqual([]);
  expect((await run("strict", { a: "more" })).error).toContain("'b'");
});

it("names the plugin and the action whose schema is none", async () => {
  const { run } = await actionsOf({ name: "odd", input: { type: "object", additionalProperties: true, maximun: 3 } as never, run: async () => 1 });
  expect((await run("odd", {})).error).toMatch(/action-inline.*action odd.*its input.*maximun/);
});

it("hands on the key of an effect, and shows what its caller wants shown in place of an input with secrets", async () => {
  const keys: unknown[] = [];
  const action = { name: "keyed", run: async (input: unknown, { key }: { key?: string }) => void keys.push([input, key]) };
  let run: () => Promise<ActionEnvelope> = () => Promise.reject(new Error("not set up"));
  const plugin = definePlugin({
    kind: "action",
    name: "inline",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["actions", "traces"],
    setup(ctx) {
      ctx.provide.action({ description: "", input: { type: "object", additionalProperties: true }, output: {}, timeoutMs: 1000, ...action });
      run = () => ctx.actions.run("keyed", { token: "s3cret" }, { door: "workflow", key: "run_1/a/1", shown: { token: { $secret: "T" } } });
    },
  });
  const { kernel } = await runKernel({ inline: [plugin] });
  expect(await run()).toMatchObject({ status: "ok", input: { token: { $secret: "T" } } });
  expect(keys).toEqual([[{ token: "s3cret" }, "run_1/a/1"]]);
  const traces = JSON.stringify(await kernel.traces.list());
  expect(traces).toContain("$secret");
  expect(traces).not.toContain("s3cret");
});
