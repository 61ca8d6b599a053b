import type { CallMedia, Lifecycle, Transcription } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { bursts, createCaller } from "./caller.harness.ts";
// Built: its thread is a file of its own.
import plugin from "./dist/index.js";
import type { Settings } from "./settings.ts";

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const LOCAL: Settings = { enabled: true, stunServers: [], hostAddresses: ["127.0.0.1"] };

/** A recogniser that says how long what it heard was. */
const counting = (transcribe?: Transcription["transcribe"]): Transcription => ({
  transcribe: transcribe ?? (async ({ audio }) => ({ text: `${Math.round((audio as Int16Array).length / 1_600) / 10} s`, backend: "local" })),
  usable: async () => ({ ok: true, detail: "" }),
});

function start(config: Settings = LOCAL, transcription: Transcription | undefined = counting()) {
  const context = createFakeContext<Settings>(plugin as never, { config, services: transcription === undefined ? {} : { transcription } });
  const life = (plugin as { setup(ctx: unknown): Lifecycle<Settings> }).setup(context);
  stops.push(() => life.stop?.());
  const media = context.registered.services.find(({ name }) => name === "call-media")?.api as CallMedia;
  return { media, context, life };
}

async function caller(...args: Parameters<typeof createCaller>) {
  const made = await createCaller(...args);
  stops.push(() => made.hangUp());
  return made;
}

describe("CHAN-09 the far end of a call", () => {
  it("hears what is said, in order and with its times, has it written down, and sends no packet of sound", async () => {
    const { media } = start();
    const person = await caller("one");
    const end = await person.ring(media);
    await person.connected();
    await person.speak(bursts(3));
    await expect.poll(() => person.heard.texts.length).toBe(3);
    await end.close("done");
    expect(person.heard.states.map(({ state }) => state)).toEqual(["connecting", "connected", "closed"]);
    const times = person.heard.segments.map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((left, right) => left - right));
    for (const { durationMs, samples } of person.heard.segments) {
      expect(samples.length).toBe(durationMs * 16);
      expect(durationMs).toBeGreaterThan(800);
      expect(durationMs).toBeLessThan(2_400);
    }
    expect([end.stats().rtpOut, person.received()]).toEqual([0, 0]);
    expect(end.stats().rtpIn).toBeGreaterThan(250);
  });
});
