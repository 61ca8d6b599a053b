import type { Lifecycle } from "@svc/sdk";
import { createFakeContext, createMemoryStore } from "@svc/sdk/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import heartbeat from "./index.ts";

afterEach(() => {
  vi.useRealTimers();
});

async function setUp(settings: object, store = createMemoryStore()) {
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const ctx = createFakeContext(heartbeat, { agents: [{ id: "a", settings: { heartbeat: settings } }], store });
  await (heartbeat.setup(ctx as never) as Lifecycle).start?.();
  const [, look] = ctx.registered.jobs;
  const beat = look?.run as () => Promise<void>;
  await beat();
  const passMinute = async () => {
    vi.advanceTimersByTime(60_000);
    await beat();
  };
  return { ctx, beat, passMinute, store };
}

describe("heartbeat", () => {
  it("asks each interval, the first time one interval after the start, in a conversation of its own", async () => {
    const { ctx, passMinute } = await setUp({ enabled: true, intervalMinutes: 2, prompt: "check in", channel: "pulse" });
    const counts: number[] = [];
    for (let minute = 0; minute < 5; minute += 1) {
      await passMinute();
      counts.push(ctx.tasks.accepted.length);
    }
    expect(counts).toEqual([0, 1, 1, 2, 2]);
    expect(ctx.tasks.accepted[0]).toMatchObject({
      text: "check in",
      channel: "pulse",
      chat: "a",
      agent: "a",
      entry: "heartbeat",
      options: { scheduled: true },
    });
  });

  it("asks nobody who has it off", async () => {
    const { ctx, passMinute } = await setUp({ enabled: false, intervalMinutes: 1, prompt: "check in" });
    await passMinute();
    await passMinute();
    expect(ctx.tasks.accepted).toEqual([]);
  });

  it("goes on waiting over a restart, and asks once for what fell due meanwhile", async () => {
    const settings = { enabled: true, intervalMinutes: 3, prompt: "check in" };
    const first = await setUp(settings);
    await first.passMinute();
    await first.passMinute();
    const second = await setUp(settings, first.store);
    await second.passMinute();
    expect([first.ctx.tasks.accepted.length, second.ctx.tasks.accepted.length]).toEqual([0, 1]);
    vi.advanceTimersByTime(60 * 60_000);
    const third = await setUp(settings, first.store);
    expect(third.ctx.tasks.accepted).toHaveLength(1);
    await third.passMinute();
    expect(third.ctx.tasks.accepted).toHaveLength(1);
  });

  it("of several daemons at one store one asks", async () => {
    const settings = { enabled: true, intervalMinutes: 1, prompt: "check in" };
    const one = await setUp(settings);
    const other = await setUp(settings, one.store);
    for (let minute = 0; minute < 10; minute += 1) {
      vi.advanceTimersByTime(60_000);
      await Promise.all([one.beat(), other.beat()]);
    }
    expect(one.ctx.tasks.accepted.length + other.ctx.tasks.accepted.length).toBe(10);
  });

  it("a clock that is set back silences nobody, and switching off and on begins to wait anew", async () => {
    const settings = { enabled: true, intervalMinutes: 2, prompt: "check in" };
    const { ctx, store, passMinute } = await setUp(settings);
    vi.setSystemTime(Date.now() - 24 * 3_600_000);
    for (let minute = 0; minute < 3; minute += 1) await passMinute();
    expect(ctx.tasks.accepted).toHaveLength(1);
    await setUp({ ...settings, enabled: false }, store);
    vi.advanceTimersByTime(3_600_000);
    expect((await setUp(settings, store)).ctx.tasks.accepted).toEqual([]);
  });
});
