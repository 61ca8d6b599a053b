import { type Store, svcError } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it, vi } from "vitest";
import { definitionOf, stage } from "./runs.harness.ts";

const waiting = definitionOf("waiting", [{ id: "s", kind: "waitSignal", signal: "go" }], "start > s");

describe("a sub-process", () => {
  it("that a timeout gives up is canceled, and the next attempt has a child of its own", async () => {
    const parent = definitionOf(
      "parent",
      [{ id: "sub", kind: "subProcess", workflow: "waiting", input: {}, timeout: "150ms", retry: { attempts: 2, delay: "0s" } }],
      "start > sub",
    );
    const { runs, start, until } = await stage({ definitions: [waiting, parent] });
    const { runId } = await start("parent");
    const children = async () => (await runs.rooms.runs.list({ where: { parent: runId } })).map(({ key, value }) => ({ key, status: value.status }));
    await vi.waitFor(async () => expect((await children()).length).toBe(2), { timeout: 20_000, interval: 2 });
    await vi.waitFor(async () => expect((await children()).map(({ status }) => status).sort()).not.toContain("paused"), { timeout: 20_000 });
    const live = (await children()).find(({ status }) => status === "running");
    if (live !== undefined) await runs.signal(live.key, { name: "go" });
    await vi.waitFor(async () => expect(["completed", "failed"]).toContain((await runs.run(runId))?.status), { timeout: 20_000 });
    // On a slow machine the second one may be given up as well; nothing is left running in either case.
    expect((await children()).map(({ status }) => status)).not.toContain("running");
    expect((await children())[0]?.status).toBe("canceled");
    await until(runId, live === undefined ? "failed" : ((await runs.run(runId))?.status ?? ""));
  });

  it("goes with a parent that is canceled while it begins", async () => {
    const parent = definitionOf("parent", [{ id: "sub", kind: "subProcess", workflow: "waiting", input: {} }], "start > sub");
    const { runs, start } = await stage({ definitions: [waiting, parent] });
    for (let tried = 0; tried < 20; tried++) {
      const { runId } = await start("parent");
      for (let ticks = 0; ticks < tried; ticks++) await Promise.resolve();
      await runs.change(runId, "cancel", { by: "ada" });
    }
    // Each of them ends, however far it had come: none is left that nobody knows of.
    await vi.waitFor(
      async () => {
        expect(runs.atWork).toEqual({ effects: 0, runs: 0 });
        expect((await runs.rooms.runs.list({ where: { status: "running" } })).map(({ value }) => value.parent)).toEqual([]);
      },
      { timeout: 20_000, interval: 20 },
    );
    expect((await runs.rooms.runs.list({ where: { workflow: "waiting" } })).length).toBeGreaterThan(0);
  });
});

describe("WF-04 WF-05 a daemon that dies as a run is stopped", () => {
  it.each(["cancel", "pause"] as const)("has its sub-process do the same after the start: %s", async (action) => {
    const memory = createMemoryStore();
    let left = Number.POSITIVE_INFINITY;
    const store: Store = {
      ...memory,
      commit: (ops) => (left-- > 0 ? memory.commit(ops) : Promise.reject(svcError("SVC_STORE_FULL", "The disk is full.", { status: 507 }))),
    };
    const parent = definitionOf("parent", [{ id: "sub", kind: "subProcess", workflow: "middle", input: {} }], "start > sub");
    const middle = definitionOf("middle", [{ id: "sub", kind: "subProcess", workflow: "waiting", input: {} }], "start > sub");
    const definitions = [waiting, middle, parent];
    const first = await stage({ definitions, store });
    const { runId } = await first.start("parent");
    const of = async (status: string) => (await first.runs.rooms.runs.list({ where: { status } })).map(({ value }) => value.workflow).sort();
    const held = async () => (await first.runs.rooms.runs.list({ where: { busy: 1 } })).length;
    await vi.waitFor(async () => expect([await of("running"), await held()]).toEqual([["middle", "parent", "waiting"], 0]));
    left = 1;
    await first.runs.change(runId, action, { by: "ada" });
    await first.runs.stop();
    const { runs, until } = await stage({ definitions, store: memory });
    const stopped = action === "cancel" ? "canceled" : "paused";
    await vi.waitFor(async () => expect(await of(stopped)).toEqual(["middle", "parent", "waiting"]), { timeout: 3_000 });
    if (action === "cancel") return;
    await runs.change(runId, "resume", { by: "ada" });
    await vi.waitFor(async () => expect(await of("running")).toEqual(["middle", "parent", "waiting"]));
    const [last] = await runs.rooms.runs.list({ where: { workflow: "waiting" } });
    await runs.signal(last?.key ?? "", { name: "go" });
    await until(runId, "completed");
  });
});

describe("a pause", () => {
  it("WF-05 holds a sub-process that was just beginning", async () => {
    const parent = definitionOf("parent", [{ id: "sub", kind: "subProcess", workflow: "quick", input: {} }], "start > sub");
    const quick = definitionOf("quick", [{ id: "t", kind: "timer", for: "200ms" }], "start > t");
    const { runs, start, until } = await stage({ definitions: [quick, parent] });
    const ids: string[] = [];
    for (let tried = 0; tried < 20; tried++) {
      const { runId } = await start("parent");
      for (let ticks = 0; ticks < tried; ticks++) await Promise.resolve();
      await runs.change(runId, "pause", { by: "ada" });
      ids.push(runId);
    }
    await new Promise((resolve) => setTimeout(resolve, 400));
    const children = (await runs.rooms.runs.list({ where: { workflow: "quick" } })).map(({ value }) => value);
    expect(children.map(({ status }) => status)).toEqual(children.map(() => "paused"));
    for (const id of ids) await runs.change(id, "resume", { by: "ada" });
    for (const id of ids) await until(id, "completed");
  });
});

describe("a restart", () => {
  it("has the input of the run that it does again, however large", async () => {
    const echo = definitionOf(
      "echo",
      [
        { id: "size", kind: "set", value: "{{ $length(input.text) }}" },
        { id: "end", kind: "end", output: "{{ in }}" },
      ],
      "start > size, size > end",
    );
    const { runs, start, until } = await stage({ definitions: [echo] });
    const { runId } = await start("echo", { text: "x".repeat(100_000) });
    await until(runId, "completed");
    const again = await runs.restart(runId, { step: "size/1" });
    await until(again.runId, "completed");
    expect((await runs.run(again.runId))?.output).toBe(100_000);
    const third = await runs.restart(again.runId, { step: "size/1" });
    await until(third.runId, "completed");
    expect((await runs.run(third.runId))?.output).toBe(100_000);
  });
});
