import { expect, it } from "vitest";
import { createMemoryStore } from "../testing/memory-store.ts";
import { unsentLayers } from "./unsent-layers.ts";

const layer = (name: string, text: string) => ({ name, priority: 1, text });
const identity = layer("identity", "You are Ada.");

it("ENG-15 a layer about the conversation is sent once in a session, until it changes", async () => {
  const store = createMemoryStore();
  const first = await unsentLayers(store, "c", undefined, [identity, layer("artifacts", "- a file")]);
  expect(first.layers).toHaveLength(2);
  await first.keep("s1");
  const second = await unsentLayers(store, "c", "s1", [identity, layer("artifacts", "- a file")]);
  expect(second.layers.map(({ name }) => name)).toEqual(["artifacts"]);
  await second.keep("s1");
  const third = await unsentLayers(store, "c", "s1", [layer("identity", "You are Ben.")]);
  expect(third.layers.map(({ text }) => text)).toEqual(["You are Ben."]);
});

it("ENG-15 another session, another conversation and a turn that failed are told all of it", async () => {
  const store = createMemoryStore();
  await unsentLayers(store, "c", undefined, [identity]);
  expect((await unsentLayers(store, "c", "s1", [identity])).layers).toEqual([identity]);
  await (await unsentLayers(store, "c", "s1", [identity])).keep("s1");
  expect((await unsentLayers(store, "c", "s1", [identity])).layers).toEqual([]);
  expect((await unsentLayers(store, "c", "s2", [identity])).layers).toEqual([identity]);
  expect((await unsentLayers(store, "d", "s1", [identity])).layers).toEqual([identity]);
});

it("ENG-15 says once that a layer is over", async () => {
  const store = createMemoryStore();
  await (await unsentLayers(store, "c", undefined, [identity, layer("channel rules", "Nobody can answer.")])).keep("s1");
  const next = await unsentLayers(store, "c", "s1", [identity]);
  expect(next.layers.map(({ text }) => text)).toEqual(['What you were told under "channel rules" does not apply any more.']);
  await next.keep("s1");
  expect((await unsentLayers(store, "c", "s1", [identity])).layers).toEqual([]);
});
