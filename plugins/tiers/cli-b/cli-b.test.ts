import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFakeContext, readRecording, replayTier } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";
import { environmentOf } from "./launch.ts";
import { createReader } from "./reader.ts";
import { KEYS, PASSED, READ } from "./variables.ts";

const folder = join(import.meta.dirname, "fixtures");
const given = { config: { command: process.execPath }, env: { OPENAI_API_KEY: "dummy-key", OPENAI_BASE_URL: "http://model.test/v1" } };

describe("on what the real program said", () => {
  it.each(readdirSync(folder))("replays %s", async (file) => {
    const { events, expected, differences } = await replayTier(plugin as never, readRecording(readFileSync(join(folder, file), "utf8")), given);
    expect(differences).toEqual([]);
    expect(events).toEqual(expected);
  });
});

describe("ENG-21 a stream that is cut and asked for again", () => {
  const read = (...told: readonly (readonly [item: string, delta: string] | "cut")[]): string => {
    const reader = createReader(undefined, { started() {}, failed: () => [] });
    return told
      .flatMap((each) =>
        each === "cut"
          ? reader.read("error", { willRetry: true, error: { message: "Reconnecting... 1/2" } })
          : reader.read("item/agentMessage/delta", { itemId: each[0], delta: each[1] }),
      )
      .map((event) => (event.type === "text" ? event.text : ""))
      .join("");
  };

  it("ENG-21 does not tell the first words twice, however often it is cut", () => {
    expect(read(["a", "One two "], "cut", ["b", "One "], ["b", "two three"])).toBe("One two three");
    expect(read(["a", "One two "], "cut", ["b", "One "], "cut", ["c", "One two th"], ["c", "ree"])).toBe("One two three");
    expect(read(["a", "One"], "cut", ["b", "One"], "cut", ["c", "One"])).toBe("One");
  });

  it("ENG-21 begins another answer as a paragraph of its own", () => {
    expect(read(["a", "One two "], "cut", ["b", "One "], ["b", "four"])).toBe("One two \n\nOne four");
    expect(read(["a", "One"], ["b", "Two"])).toBe("One\n\nTwo");
  });
});

describe("the program's environment", () => {
  const daemon: Readonly<Record<string, string>> = Object.fromEntries(READ.map((name) => [name, `the ${name}`]));
  const child = (billing: "subscription" | "api", env = {}) => environmentOf("ada", { billing }, { env }, (name) => daemon[name]).env;

  it("RUN-12 holds a key only where the agent pays by it, and the vendor's address and home whoever pays", () => {
    expect(KEYS.filter((name) => name in child("subscription"))).toEqual([]);
    expect(child("api")).toMatchObject({ OPENAI_API_KEY: "the OPENAI_API_KEY" });
    expect(() => child("subscription", { CODEX_API_KEY: "x" })).toThrow(expect.objectContaining({ code: "SVC_BILLING_KEY_REFUSED", path: "tiers.cli-b.env" }));
    for (const billing of ["subscription", "api"] as const)
      expect(child(billing)).toMatchObject(Object.fromEntries(PASSED.map((name) => [name, `the ${name}`])));
  });
});

it("FAULT-27 the probe says why the program cannot be used", async () => {
  const context = createFakeContext(plugin as never, { config: { command: "/no/such/program" }, env: given.env });
  plugin.setup(context as never);
  expect(await context.registered.tiers[0]?.probe?.()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/'\/no\/such\/program' was not found.*; install .* tiers\.cli-b\.command/),
  });
});
