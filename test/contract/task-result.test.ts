import { join } from "node:path";
import { definePlugin, type Plugin, type TaskResult, type Tasks } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { action, runIsolated } from "../faults/isolation.harness.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";

const PATIENCE = { timeout: 20_000, interval: 5 };
const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), PATIENCE);

describe("the result of a task by its id", () => {
  it("waits for a live task, and is that of its record afterwards", async () => {
    const { kernel, tier, message } = await runKernel();
    const { taskId } = await kernel.tasks.accept(message("hold"));
    const live = kernel.tasks.result(taskId);
    await until(() => tier.held === 1);
    tier.release("the answer");
    const result = await live;
    expect(result).toMatchObject({ ok: true, taskId, status: "ok", reply: "begun the answer" });
    expect(await kernel.tasks.result(taskId)).toEqual(result);
  });

  it("is the caller's own for a message that another one's turn answers, and that of a failure", async () => {
    const { kernel, tier, message } = await runKernel();
    const first = await kernel.tasks.accept(message("hold"));
    await until(() => tier.held === 1);
    const [one, two] = [await kernel.tasks.accept(message("one")), await kernel.tasks.accept(message("two"))];
    const live = kernel.tasks.result(two.taskId);
    tier.release();
    expect(await live).toMatchObject({ ok: true, taskId: two.taskId, reply: "one\n\ntwo" });
    expect(await kernel.tasks.result(two.taskId)).toMatchObject({ ok: true, taskId: two.taskId, reply: "one\n\ntwo" });
    for (const { taskId } of [first, one]) expect(await kernel.tasks.result(taskId)).toMatchObject({ ok: true, taskId });
    const failed = await kernel.tasks.accept(message("fail"));
    expect(await kernel.tasks.result(failed.taskId)).toMatchObject({ ok: false, errorKind: "engine" });
    expect(await kernel.tasks.result(failed.taskId)).toMatchObject({ ok: false, errorKind: "engine", error: "the engine said no" });
  });

  it("of an unknown task is an error that says so; the caller's signal ends the wait with its reason", async () => {
    const { kernel, tier, message } = await runKernel();
    await expect(kernel.tasks.result("task_none")).rejects.toMatchObject({ code: "SVC_TASK_UNKNOWN", message: expect.stringContaining("task_none") });
    const { taskId } = await kernel.tasks.accept(message("hold"));
    await until(() => tier.held === 1);
    const stop = new AbortController();
    const waiting = kernel.tasks.result(taskId, stop.signal);
    stop.abort(new Error("asked enough"));
    await expect(waiting).rejects.toThrow("asked enough");
    expect(tier.held).toBe(1);
  });

  it("is an error when the daemon stops first, and there after the next start: for resumed work its answer, for other work the reason", async () => {
    const folder = await temporaryFolder();
    const options = { folder, dataFolder: join(folder, ".svc") };
    const before = await runKernel(options);
    const resumed = await before.kernel.tasks.accept(before.message("hold"));
    const scheduled = await before.kernel.tasks.accept(before.message("hold too", { chat: "job", options: { scheduled: true } }));
    await until(() => before.tier.held === 1);
    const waiting = [resumed, scheduled].map(({ taskId }) => before.kernel.tasks.result(taskId));
    const refusals = waiting.map((one) => expect(one).rejects.toMatchObject({ code: "SVC_DAEMON_DRAINING" }));
    await before.kernel.stop({ drainSeconds: 0 });
    await Promise.all(refusals);

    // Asked in a plugin's setup: before anything is put back to work.
    const asked: Promise<TaskResult>[] = [];
    const asks = definePlugin({
      kind: "feature",
      name: "asks",
      version: "1.0.0",
      svc: "*",
      capabilities: ["tasks"],
      setup(ctx) {
        const { result } = ctx.tasks as Tasks;
        asked.push(result(resumed.taskId), result(scheduled.taskId));
      },
    }) as unknown as Plugin<never>;
    const after = await runKernel({ ...options, inline: [asks] });
    await until(() => after.tier.held === 1);
    after.tier.release("at last");
    const [answer, report] = await Promise.all(asked);
    expect(answer).toMatchObject({ ok: true, taskId: resumed.taskId, reply: "begun at last" });
    expect(report).toMatchObject({ ok: false, taskId: scheduled.taskId, errorKind: "interrupted", error: expect.stringContaining("scheduled jobs") });
  });

  it("crosses to an isolated plugin, with its errors and the signal", async () => {
    const { kernel, message, act } = await runIsolated([
      {
        name: "asks",
        capabilities: ["tasks"],
        setup: `${action("asks.known", "return ctx.tasks.result((await ctx.tasks.accept({ entry: 'task', channel: 'http', chat: 'c9', text: 'hello', agent: 'a' })).taskId);")}
          ${action("asks.unknown", "return ctx.tasks.result('task_none').catch((error) => error.code);")}
          ${action("asks.aborted", "return ctx.tasks.result('task_none', AbortSignal.abort(new Error('no more'))).catch((error) => error.message);")}`,
      },
    ]);
    expect(await act("asks.known")).toMatchObject({ ok: true, reply: "hello" });
    expect(await act("asks.unknown")).toBe("SVC_TASK_UNKNOWN");
    expect(await act("asks.aborted")).toBe("no more");
    expect((await kernel.tasks.run(message("still there"))).ok).toBe(true);
  });
});

describe("the run that a message belongs to", () => {
  it("stands in its trace, and finds the run's tasks, newest first, also over HTTP and over a restart", async () => {
    const folder = await temporaryFolder();
    const options = { folder, dataFolder: join(folder, ".svc"), listen: true };
    const before = await runKernel(options);
    const run = (text: string, runId?: string) => before.kernel.tasks.run(before.message(text, { chat: text, ...(runId === undefined ? {} : { runId }) }));
    const [one, , two] = [await run("one", "run_1"), await run("other", "run_2"), await run("two", "run_1"), await run("none")];
    const ids = [two.taskId, one.taskId];
    expect((await before.kernel.traces.list({ runId: "run_1" })).map(({ id }) => id)).toEqual(ids);
    expect(await before.kernel.traces.get(one.taskId)).toMatchObject({ runId: "run_1" });
    expect(await before.kernel.traces.list({ runId: "run_1", status: "error" })).toEqual([]);
    await before.kernel.stop();
    const { kernel } = await runKernel(options);
    const answer = await fetch(`${baseOf(kernel)}/traces?runId=run_1`);
    expect(((await answer.json()) as { traces: { id: string }[] }).traces.map(({ id }) => id)).toEqual(ids);
  });
});
