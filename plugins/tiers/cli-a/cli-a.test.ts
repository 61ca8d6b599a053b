import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFakeContext, createRealSpawn, readRecording, replayTier } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { openClaude } from "./claude.ts";
import { environmentOf } from "./environment.ts";
import plugin from "./index.ts";
import { KEYS, PASSED, READ } from "./variables.ts";

const folder = join(import.meta.dirname, "fixtures");
const given = { config: { command: process.execPath }, env: { ANTHROPIC_API_KEY: "dummy-key", PATH: "/usr/bin" } };

describe("on what the real program said", () => {
  it.each(readdirSync(folder))("replays %s", async (file) => {
    const { events, expected, differences } = await replayTier(plugin as never, readRecording(readFileSync(join(folder, file), "utf8")), given);
    expect(differences).toEqual([]);
    expect(events).toEqual(expected);
  });
});

describe("the program's environment", () => {
  const daemon: Readonly<Record<string, string>> = Object.fromEntries(READ.map((name) => [name, `the ${name}`]));
  const child = (billing: "subscription" | "api", env = {}) => environmentOf("ada", { billing }, { env }, (name) => daemon[name]).env;

  it("RUN-12 holds a key only where the agent pays by it, and the vendor's address and home whoever pays", () => {
    expect(KEYS.filter((name) => name in child("subscription"))).toEqual([]);
    expect(child("api")).toMatchObject({ ANTHROPIC_API_KEY: "the ANTHROPIC_API_KEY" });
    expect(() => child("subscription", { ANTHROPIC_AUTH_TOKEN: "x" })).toThrow(
      expect.objectContaining({ code: "SVC_BILLING_KEY_REFUSED", path: "tiers.cli-a.env" }),
    );
    for (const billing of ["subscription", "api"] as const)
      expect(child(billing)).toMatchObject(Object.fromEntries(PASSED.map((name) => [name, `the ${name}`])));
  });
});

it("FAULT-27 the probe says why the program cannot be used", async () => {
  const context = createFakeContext(plugin as never, { config: { command: "/no/such/program" }, env: given.env });
  plugin.setup(context as never);
  expect(await context.registered.tiers[0]?.probe?.()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/'\/no\/such\/program' was not found.*; install .* tiers\.cli-a\.command/),
  });
});

it("a program that prints a line of its own in each turn is understood however many turns it is kept for", async () => {
  const { spawn, stopAll } = createRealSpawn();
  const program = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    console.log("Loaded what it needs.");
    if (JSON.parse(line).type === "user") console.log(JSON.stringify({ type: "result", result: "yes" }));
  });`;
  const claude = openClaude(spawn, process.execPath, ["-e", program], { cwd: import.meta.dirname, env: {}, taskId: "task_1", guarded: false });
  await claude.ready();
  for (let turn = 0; turn < 120; turn += 1) {
    const told: unknown[] = [];
    for await (const message of claude.turn([], { mayUse: async () => ({ allow: false, reason: "" }) })) told.push(message);
    expect(told).toEqual([{ type: "result", result: "yes" }]);
  }
  await stopAll();
});
