import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import readLines from "@svc/action-file-read-lines";
import operatorActions from "@svc/feature-operator-actions";
import type { Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";

it("ACT-07 answers the envelope over HTTP and keeps each call as a step in a trace", async () => {
  const dataFolder = await temporaryFolder();
  await mkdir(join(dataFolder, "actions"));
  await writeFile(join(dataFolder, "actions/say.json"), JSON.stringify({ kind: "shell", command: "printf %s {{x}}", inputs: [{ name: "x", required: true }] }));
  await writeFile(join(dataFolder, "lines.txt"), "one\ntwo\n");
  const { kernel } = await runKernel({
    dataFolder,
    env: { PATH: process.env["PATH"] ?? "", SVC_BUILTIN_FILE_ROOTS: dataFolder },
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
