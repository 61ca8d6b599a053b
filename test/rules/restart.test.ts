import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lockHolder } from "@svc/kernel/folder";
import type { Plugin, StoreDriver } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { createLog } from "../../kernel/base/log.ts";
import { baseOf, post, type Running, type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { openStore } from "../kit/store.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

interface Restartable extends Running {
  readonly restarted: ReturnType<typeof vi.fn>;
  ask(body?: object): ReturnType<typeof post>;
}

async function restartable(restart: object, options: RunOptions = {}, shutdown: object = { drainTimeoutSeconds: 0 }): Promise<Restartable> {
  const restarted = vi.fn();
  const running = await runKernel({ listen: true, onRestart: restarted, config: { shutdown: { ...shutdown, restart } }, ...options });
  const base = baseOf(running.kernel);
  return { ...running, restarted, ask: (body = { by: "eve", reason: "an update" }) => post(base, "/restart", body) };
}

/** A clock that stands at this local time until it is told to run. */
function clockAt(hour: number, minute: number, second: number, ms = 0): { now: () => number; run: () => void } {
  const start = new Date(2025, 5, 10, hour, minute, second, ms).getTime();
  let began: number | undefined;
  return {
    now: () => (began === undefined ? start : start + Date.now() - began),
    run() {
      began = Date.now();
    },
  };
}

/** Still up, and told nothing about a restart. */
async function unharmed({ kernel, message, restarted, events }: Restartable): Promise<void> {
  expect((await kernel.tasks.run(message("still here"))).reply).toBe("still here");
  expect(restarted).not.toHaveBeenCalled();
  expect(events.filter(({ data }) => data?.restart !== undefined)).toEqual([]);
}

it("OPS-02 without allowBy anyone restarts at once: stopped cleanly, its folder free, and then started anew", async () => {
  const folder = await temporaryFolder();
  const { now } = clockAt(12, 0, 0);
  const daemon = await restartable({}, { folder, dataFolder: join(folder, ".svc"), now });
  expect(lockHolder(join(folder, ".svc"))).toMatchObject({ pid: process.pid });
  let left: unknown = "not called";
  daemon.restarted.mockImplementation(() => {
    left = { state: daemon.kernel.health().state, holder: lockHolder(join(folder, ".svc")) };
  });
  const answer = await daemon.ask({});
  expect(answer).toMatchObject({ status: 202, body: { ok: true } });
  expect(Date.parse(answer.body.at as string)).toBe(now());
  await until(() => daemon.restarted.mock.calls.length === 1);
  expect(left).toEqual({ state: "stopped", holder: undefined });
});

it("OPS-02 who matches allowBy restarts at once, and the event says who and why", async () => {
  const daemon = await restartable({ allowBy: "^ops-" });
  expect((await daemon.ask({ by: "ops-7", reason: "an update" })).status).toBe(202);
  await until(() => daemon.restarted.mock.calls.length === 1);
  expect(daemon.events.map(({ summary }) => summary)).toContain("restart asked for by ops-7: an update");
});

it("OPS-02 who does not match is held when the window is near, and the restart begins there", async () => {
  const { now, run } = clockAt(2, 59, 59, 900);
  const daemon = await restartable({ allowBy: "^ops-", window: "03:00" }, { now });
  const [first, second] = await Promise.all([daemon.ask(), daemon.ask({ by: "mallory" })]);
  expect(first).toEqual({ status: 202, body: { ok: true, at: new Date(2025, 5, 10, 3, 0).toISOString() } });
  expect(second).toEqual(first);
  await unharmed(daemon);
  run();
  await until(() => daemon.restarted.mock.calls.length > 0);
  const begun = daemon.events.filter(({ data }) => data?.restart === "begun");
  expect(begun.map(({ at }) => at >= (first.body.at as string))).toEqual([true]);
  expect(daemon.restarted).toHaveBeenCalledTimes(1);
});

it("OPS-02 a held restart is overtaken by one that may begin at once", async () => {
  const daemon = await restartable({ allowBy: "^ops-", window: "03:00" }, { now: clockAt(2, 0, 0).now });
  expect((await daemon.ask()).body.at).toBe(new Date(2025, 5, 10, 3, 0).toISOString());
  await unharmed(daemon);
  expect((await daemon.ask({ by: "ops-1" })).status).toBe(202);
  await until(() => daemon.restarted.mock.calls.length === 1);
});

it("OPS-02 who does not match is refused with the reason when the window is further away than windowWaitMinutes", async () => {
  const daemon = await restartable({ allowBy: "^ops-", window: "03:00", windowWaitMinutes: 60 }, { now: clockAt(1, 59, 0).now });
  const refused = await daemon.ask();
  expect(refused).toMatchObject({ status: 409, body: { code: "SVC_RESTART_REFUSED", error: expect.stringContaining("61 minutes away") } });
  await unharmed(daemon);
});

it("OPS-02 who does not match is refused when there is no window", async () => {
  const daemon = await restartable({ allowBy: "^ops-" });
  for (const body of [{ by: "eve" }, {}, { reason: "ops-" }])
    expect(await daemon.ask(body)).toMatchObject({ status: 409, body: { code: "SVC_RESTART_REFUSED", error: expect.stringContaining("window") } });
  expect((await daemon.ask({ by: "x".repeat(201) })).status).toBe(400);
  await unharmed(daemon);
});

it("OPS-02 with forbidOnTimeoutRestart a daemon that is still busy after the drain keeps running and takes new work", async () => {
  const daemon = await restartable({ forbidOnTimeoutRestart: true }, { agent: { maxConcurrent: 2 } });
  const { kernel, tier, message, events } = daemon;
  const busy = kernel.tasks.run(message("hold"));
  await until(() => tier.held === 1);
  expect((await daemon.ask()).status).toBe(202);
  await until(() => events.some(({ data }) => data?.restart === "given-up"));
  expect(kernel.health()).toMatchObject({ ok: true, state: "running" });
  expect((await kernel.tasks.run(message("new work", { chat: "c2" }))).reply).toBe("new work");
  tier.release("undisturbed");
  expect(await busy).toMatchObject({ ok: true, reply: "begun undisturbed" });
  expect(daemon.restarted).not.toHaveBeenCalled();
  // Idle now, the next request is carried out.
  expect((await daemon.ask()).status).toBe(202);
  await until(() => daemon.restarted.mock.calls.length === 1);
});

it("OPS-02 with forbidOnTimeoutRestart work that ends within the drain is no hindrance; new work is refused meanwhile", async () => {
  const daemon = await restartable({ forbidOnTimeoutRestart: true }, {}, { drainTimeoutSeconds: 600 });
  const { kernel, tier, message } = daemon;
  const busy = kernel.tasks.run(message("hold"));
  await until(() => tier.held === 1);
  await daemon.ask();
  await until(() => kernel.health().state === "draining");
  await expect(kernel.tasks.run(message("late"))).rejects.toMatchObject({ code: "SVC_DAEMON_DRAINING" });
  expect((await daemon.ask()).status).toBe(503);
  tier.release("done");
  expect((await busy).reply).toBe("begun done");
  await until(() => daemon.restarted.mock.calls.length === 1);
});

it("OPS-02 without forbidOnTimeoutRestart it restarts over running work, which is taken up again", async () => {
  const folder = await temporaryFolder();
  const daemon = await restartable({}, { folder, dataFolder: join(folder, ".svc") });
  const busy = daemon.kernel.tasks.run(daemon.message("hold"));
  await until(() => daemon.tier.held === 1);
  await daemon.ask();
  await until(() => daemon.restarted.mock.calls.length === 1);
  const { taskId, errorKind } = await busy;
  expect(errorKind).toBe("interrupted");
  const next = await runKernel({ folder, dataFolder: join(folder, ".svc") });
  await until(() => next.tier.held === 1);
  next.tier.release("after all");
  await until(() => next.kernel.tasks.running().length === 0);
  expect(await next.kernel.traces.get(taskId)).toMatchObject({ status: "ok", response: "begun after all" });
});

it("OPS-02 whoever stops a daemon that drains for a restart, or holds one, stops it for good", async () => {
  const daemon = await restartable({}, {}, { drainTimeoutSeconds: 600 });
  void daemon.kernel.tasks.run(daemon.message("hold"));
  await until(() => daemon.tier.held === 1);
  await daemon.ask();
  await until(() => daemon.kernel.health().state === "draining");
  await daemon.kernel.stop({ drainSeconds: 0 });
  expect(daemon.kernel.health().state).toBe("stopped");

  const { now, run } = clockAt(2, 59, 59, 900);
  const held = await restartable({ allowBy: "^ops-", window: "03:00" }, { now });
  expect((await held.ask()).status).toBe(202);
  await held.kernel.stop();
  run();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(daemon.restarted).not.toHaveBeenCalled();
  expect(held.restarted).not.toHaveBeenCalled();
});

it("OPS-02 a kernel inside a program that does not start it anew answers 501", async () => {
  const { kernel, message } = await runKernel({ listen: true });
  expect(await post(baseOf(kernel), "/restart", { by: "eve" })).toMatchObject({ status: 501, body: { code: "SVC_RESTART_UNSUPPORTED" } });
  expect((await kernel.tasks.run(message("still here"))).reply).toBe("still here");
});

it("OPS-02 a daemon whose configuration could not start again is not stopped for it", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  const good = { node: { id: "n1", name: "N", bind: "127.0.0.1:0" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted" } } };
  await writeFile(file, JSON.stringify(good));
  const restarted = vi.fn();
  const kernel = await createTestKernel({ config: file, plugins: [scriptedTier().plugin as Plugin<never>], listen: true, onRestart: restarted });
  await kernel.start();
  try {
    for (const broken of ['{ "node": ', JSON.stringify({ ...good, node: {} })]) {
      await writeFile(file, broken);
      expect(await post(baseOf(kernel), "/restart", {})).toMatchObject({ status: 400, body: { error: expect.stringContaining("svc.json") } });
      expect(kernel.health().state).toBe("running");
    }
    await writeFile(file, JSON.stringify(good));
    expect((await post(baseOf(kernel), "/restart", {})).status).toBe(202);
    await until(() => restarted.mock.calls.length === 1);
  } finally {
    await kernel.stop();
  }
});

it("a daemon that leaves says so to the others on its state before its work ends, but not while it may stay", async () => {
  const leaving = vi.fn(async () => {});
  const shared = () => ({ ...openStore({ file: ":memory:", log: createLog({ destination: "none", secrets: () => [] }) }), leaving }) as StoreDriver;
  const stopped = await restartable({}, { store: shared() }, { drainTimeoutSeconds: 600 });
  void stopped.kernel.tasks.run(stopped.message("hold"));
  await until(() => stopped.tier.held === 1);
  const stop = stopped.kernel.stop();
  await until(() => leaving.mock.calls.length === 1);
  expect(stopped.kernel.health().state).toBe("draining");
  stopped.tier.release("done");
  await stop;

  leaving.mockClear();
  const unsure = await restartable({ forbidOnTimeoutRestart: true }, { store: shared() }, { drainTimeoutSeconds: 600 });
  void unsure.kernel.tasks.run(unsure.message("hold"));
  await until(() => unsure.tier.held === 1);
  await unsure.ask();
  await until(() => unsure.kernel.health().state === "draining");
  expect(leaving).not.toHaveBeenCalled();
  const forGood = unsure.kernel.stop();
  expect(leaving).toHaveBeenCalledOnce();
  unsure.tier.release("done");
  await forGood;
});
