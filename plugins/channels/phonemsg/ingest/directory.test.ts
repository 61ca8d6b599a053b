import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { createDirectory } from "./directory.ts";

const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log } as never;
const people = { known: async (id: string) => ({ id }), addressOf: async (id: string) => id };

/** A directory whose platform answers the question for a group with this error. */
const directoryOf = (error: Error) =>
  createDirectory({ store: createMemoryStore(), log }, people, false, () => ({ groupMetadata: () => Promise.reject(error) }) as never);

it.each([403, 404])("CHAN-04 a group that the platform does not show (%i) has no name, and nothing waits for it", async (data) => {
  expect(await directoryOf(Object.assign(new Error("refused"), { data })).groupName("1@g.us", true)).toBeUndefined();
});

it.each([
  ["too many questions", { data: 429 }],
  ["no answer", { data: { stack: "" }, output: { statusCode: 408 } }],
  ["a connection that ended", { output: { statusCode: 428 } }],
])("CHAN-04 a name that may be told later is waited for: %s", async (_what, facts) => {
  await expect(directoryOf(Object.assign(new Error("not now"), facts)).groupName("1@g.us", true)).rejects.toThrow("not now");
});
