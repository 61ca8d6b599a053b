import { afterEach, expect, it, vi } from "vitest";
import { createMemoryStore } from "../testing/memory-store.ts";
import type { TurnContext } from "../tier.ts";
import { readTranscript } from "./transcript.ts";
import { unsentLayers } from "./unsent-layers.ts";

afterEach(() => void vi.useRealTimers());

it("what a tier keeps about conversations goes when they have ended long ago, and stays while they go on", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const store = createMemoryStore();
  const context = { system: "You are Ada.", layers: [], prompt: "hello", media: [], history: [] } as unknown as TurnContext;
  const talk = async (conversation: string, session?: string) => {
    const transcript = await readTranscript(store, conversation, { ...context, ...(session === undefined ? {} : { session }) });
    await transcript.keep("native", { user: "hello", answer: "hi" });
    await (await unsentLayers(store, conversation, undefined, [{ name: "identity", priority: 1, text: "You are Ada." }])).keep("native");
    return transcript;
  };
  const { id } = await talk("goes on");
  for (let thread = 0; thread < 30; thread += 1) await talk(`thread ${thread}`);
  for (let day = 0; day < 60; day += 5) {
    vi.setSystemTime(Date.now() + 5 * 86_400_000);
    expect((await talk("goes on", id)).native).toBe("native");
  }
  for (const name of ["conversations", "layers"]) expect(await store.collection(name).count()).toBe(1);
});
