import type { Lifecycle } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import heartbeat from "./index.ts";

afterEach(() => {
  vi.useRealTimers();
});

async function setUp(settings: object) {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const ctx = createFakeContext(heartbeat, { agents: [{ id: "a", settings: { heartbeat: settings } }] });
  await (heartbeat.setup(ctx as never) as Lifecycle).start?.();
  const passMinute = async () => {
    vi.advanceTimersByTime(60_000);
    for (const job of ctx.registered.jobs) await (job.run as () => Promise<void>)();
  };
  return { ctx, passMinute };
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
});
