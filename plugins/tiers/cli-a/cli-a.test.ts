import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readRecording, replayTier } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

const folder = join(import.meta.dirname, "fixtures");
const given = { config: { command: process.execPath }, env: { ANTHROPIC_API_KEY: "dummy-key", PATH: "/usr/bin" } };

describe("on what the real program said", () => {
  it.each(readdirSync(folder))("replays %s", async (file) => {
    const { events, expected, differences } = await replayTier(plugin as never, readRecording(readFileSync(join(folder, file), "utf8")), given);
    expect(differences).toEqual([]);
    expect(events).toEqual(expected);
  });
});
