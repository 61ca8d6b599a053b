import { put, type TaskEvent } from "@svc/sdk";
import { expect, it } from "vitest";
import { runKernel } from "../../../test/kit/kernel.ts";
import { scriptedTier } from "../../../test/kit/scripted.ts";
import { openStore } from "../../../test/kit/store.ts";
import { firstTaskIdAt, TRACE_INDEXES, TRACES } from "./record.ts";
import { createTraces } from "./traces.ts";

const BEGAN = Date.parse("2027-01-01T00:00:00Z");

/** One task a second, every third one of agent `b`, every fifth one failed. */
async function stored(count: number, more = "") {
  const store = openStore({ file: ":memory:" });
  const core = store.scope("core");
  core.collection(TRACES, { indexes: TRACE_INDEXES });
  const idOf = (n: number) => `${firstTaskIdAt(BEGAN + n * 1_000)}000x`;
  const record = (n: number) => ({
    id: idOf(n),
    inbound: { id: idOf(n), channel: n % 2 === 0 ? "app" : "http", chat: "c", text: `m${n}${more}`, at: BEGAN + n * 1_000 },
    status: n % 5 === 0 ? "error" : "ok",
    agent: n % 3 === 0 ? "b" : "a",
    conversation: "c",
    attempts: 1,
    startedAt: BEGAN + n * 1_000,
    steps: [],
  });
  for (let from = 0; from < count; from += 500)
    await core.note(Array.from({ length: Math.min(500, count - from) }, (_, at) => put(TRACES, idOf(from + at), record(from + at))));
  const pages: number[] = [];
  const watched: typeof core = Object.assign(Object.create(core), {
    async scan(...asked: Parameters<typeof core.scan>) {
      const page = await core.scan(...asked);
      pages.push(page.docs.length);
      return page;
    },
  });
  return { traces: createTraces(watched), idOf, pages, close: () => store.close() };
}

it("ids come from the newest on, by the same filters as traces, below an id and since a time", async () => {
  const { traces, idOf, close } = await stored(6_000);
  const all = Array.from({ length: 6_000 }, (_, n) => 5_999 - n);
  expect(await traces.ids({ limit: 100_000 })).toEqual(all.map(idOf));
  expect(await traces.ids()).toEqual(all.slice(0, 1_000).map(idOf));
  expect(await traces.ids({ agent: "b", status: "error", channel: "app", limit: 100_000 })).toEqual(all.filter((n) => n % 30 === 0).map(idOf));
  expect(await traces.ids({ agent: "b", below: idOf(9), since: BEGAN + 3_000 })).toEqual([6, 3].map(idOf));
  expect((await traces.list({ agent: "b", below: idOf(9), since: BEGAN + 3_000 })).map(({ id }) => id)).toEqual([6, 3].map(idOf));
  expect((await traces.list({ below: idOf(5_000), limit: 3 })).map(({ message }) => message)).toEqual(["m4999", "m4998", "m4997"]);
  await close();
});

it("of long messages few are read in one turn of the loop, of short ones many", async () => {
  const long = await stored(60, "x".repeat(250_000));
  expect(await long.traces.list({ limit: 50 })).toHaveLength(50);
  expect(long.pages).toEqual([20, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
  await long.close();
  const huge = await stored(25, "x".repeat(3_000_000));
  expect(await huge.traces.list()).toHaveLength(25);
  expect(huge.pages.slice(1).filter((docs) => docs > 1)).toEqual([]);
  await huge.close();
  const short = await stored(500);
  expect(await short.traces.list({ limit: 400 })).toHaveLength(400);
  expect(short.pages).toEqual([20, 100, 100, 100, 80]);
  await short.close();
});

it("a task that runs can be looked at, and who comes later hears the rest of it", async () => {
  const tier = scriptedTier();
  const { kernel, message } = await runKernel({ tier });
  const heard: TaskEvent[] = [];
  const { taskId } = await kernel.tasks.accept(message("hold it"));
  await expect.poll(() => tier.held).toBe(1);
  const result = kernel.tasks.result(taskId, undefined, (event) => heard.push(event));
  const before = await kernel.traces.get(taskId);
  expect(before).toMatchObject({ status: "in-flight", agent: "a", message: "hold it" });
  tier.release("now");
  expect(await result).toMatchObject({ ok: true, reply: "begun now" });
  expect(heard).toEqual([{ type: "text", text: "now" }]);
  expect(await kernel.traces.get(taskId)).toMatchObject({ status: "ok", response: "begun now" });
});
