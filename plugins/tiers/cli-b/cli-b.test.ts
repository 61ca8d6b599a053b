import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRecording, replayTier } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { KEYS, launchOf, PASSED } from "./environment.ts";
import plugin from "./index.ts";
import { findProgram } from "./program.ts";
import { createReader } from "./reader.ts";

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
  const daemon: Readonly<Record<string, string>> = Object.fromEntries([...KEYS, ...PASSED].map((name) => [name, `the ${name}`]));
  const child = (billing: "subscription" | "api", env: Readonly<Record<string, string>> = daemon, section: { readonly env?: Record<string, string> } = {}) =>
    launchOf("ada", { billing }, section, (name) => env[name]).env;

  it("RUN-12 holds no key on the shared sign-in, though the daemon has one", () => {
    const env = child("subscription");
    expect(KEYS.filter((name) => name in env)).toEqual([]);
  });

  it("RUN-12 billing api without a key is an error that says what to do", () => {
    expect(() => child("api", {})).toThrow(
      expect.objectContaining({ code: "SVC_BILLING_KEY_MISSING", message: expect.stringContaining("OPENAI_API_KEY is not set") }),
    );
    expect(child("api")).toMatchObject({ OPENAI_API_KEY: "the OPENAI_API_KEY" });
  });

  it("RUN-12 a key by the section's back door is refused", () => {
    expect(() => child("subscription", daemon, { env: { CODEX_API_KEY: "x" } })).toThrow(expect.objectContaining({ code: "SVC_BILLING_KEY_REFUSED" }));
  });

  it("holds the vendor's address and home whoever pays", () => {
    for (const billing of ["subscription", "api"] as const)
      expect(child(billing)).toMatchObject(Object.fromEntries(PASSED.map((name) => [name, `the ${name}`])));
  });
});

describe("finding the program", () => {
  it("FAULT-27 names a program that is not there, and where to set it", () => {
    expect(() => findProgram("no-such-program", "/usr/bin:/bin")).toThrow(
      expect.objectContaining({
        code: "SVC_TIER_PROGRAM",
        message: expect.stringMatching(/'no-such-program' was not found on PATH; install Codex.* tiers\.cli-b\.command/),
      }),
    );
    expect(() => findProgram("/no/such/program", "")).toThrow(expect.objectContaining({ code: "SVC_TIER_PROGRAM" }));
  });

  it("FAULT-27 does not take a file that cannot be run from PATH, nor a relative folder", () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-program-"));
    writeFileSync(join(folder, "tool"), "", { mode: 0o644 });
    expect(() => findProgram("tool", `${folder}:.`)).toThrow(expect.objectContaining({ code: "SVC_TIER_PROGRAM" }));
    rmSync(folder, { recursive: true });
  });

  it("FAULT-27 the probe says why the program cannot be used", async () => {
    const { createFakeContext } = await import("@svc/sdk/testing");
    const context = createFakeContext(plugin as never, { config: { command: "/no/such/program" }, env: given.env });
    plugin.setup(context as never);
    const tier = context.registered.tiers[0];
    expect(await tier?.probe?.()).toMatchObject({ ok: false, detail: expect.stringContaining("/no/such/program") });
  });
});
