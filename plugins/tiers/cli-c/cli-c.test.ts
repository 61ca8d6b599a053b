import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Spawn } from "@svc/sdk";
import { createFakeContext, readRecording, replayTier } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";
import { environmentOf } from "./launch.ts";
import { KEYS, PASSED, READ } from "./variables.ts";

const folder = join(import.meta.dirname, "fixtures");
const given = { config: { command: process.execPath }, env: { GEMINI_API_KEY: "dummy-key" } };

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
    expect(child("api")).toMatchObject({ GEMINI_API_KEY: "the GEMINI_API_KEY" });
    expect(() => child("subscription", { GOOGLE_API_KEY: "x" })).toThrow(expect.objectContaining({ code: "SVC_BILLING_KEY_REFUSED", path: "tiers.cli-c.env" }));
    for (const billing of ["subscription", "api"] as const)
      expect(child(billing)).toMatchObject(Object.fromEntries(PASSED.map((name) => [name, `the ${name}`])));
  });
});

it("FAULT-27 the probe says why the program cannot be used", async () => {
  const context = createFakeContext(plugin as never, { config: { command: "/no/such/program" }, env: given.env });
  plugin.setup(context as never);
  expect(await context.registered.tiers[0]?.probe?.()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/'\/no\/such\/program' was not found.*; install .* tiers\.cli-c\.command/),
  });
});

it("the probe asks for the version without a second process of the program", async () => {
  const asked: unknown[] = [];
  const spawn: Spawn = (_command, args, { env }) => {
    asked.push([args.at(-1), env]);
    const ended = Promise.resolve({ code: 0, signal: null, stdout: "9.9.9\n", stderr: "", truncated: false });
    return { pid: 1, started: Promise.resolve(), ended, write: async () => {}, closeStdin: () => {}, stop: async () => {} };
  };
  const context = createFakeContext(plugin as never, { ...given, spawn });
  plugin.setup(context as never);
  expect(await context.registered.tiers[0]?.probe?.()).toMatchObject({ ok: true, detail: expect.stringContaining("9.9.9") });
  expect(asked).toEqual([["--version", { GEMINI_CLI_NO_RELAUNCH: "true" }]]);
});
