import { definePlugin, type Plugin, type TierEvent } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { runKernel } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

/** A tier that waits for two seconds, for a person or for its vendor, and then answers. */
function waitingTier(person: boolean) {
  const plugin = definePlugin({
    kind: "tier",
    name: "waits",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup: (ctx) =>
      ctx.provide.tier({
        name: "waits",
        async *run(_turn, _context, signal): AsyncIterable<TierEvent> {
          yield { type: "waiting", reason: "somebody is asked", retryAfterMs: 60_000, ...(person ? { person } : {}) } as TierEvent;
          await new Promise((resolve) => {
            const timer = setTimeout(resolve, 2_000);
            signal.addEventListener("abort", () => resolve(clearTimeout(timer)));
          });
          if (signal.aborted) return;
          yield { type: "text", text: "answered" };
          yield { type: "done" };
        },
      }),
  }) as Plugin<never>;
  return { ...scriptedTier(), plugin };
}

/** One second. */
const LIMIT = { timeoutMinutes: 1 / 60 };

it("K28 the time limit of a run does not count while a person is asked, and the task shows that it waits", async () => {
  const { kernel, message } = await runKernel({ tier: waitingTier(true), agent: { tier: "waits" } });
  const running = kernel.tasks.run(message("x", { options: LIMIT }));
  await vi.waitFor(() => expect(kernel.tasks.running().map(({ step }) => step)).toEqual(["waiting"]), 10_000);
  expect(await running).toMatchObject({ ok: true, reply: "answered" });
});

it("K28 it counts while the engine waits for its vendor", async () => {
  const { kernel, message } = await runKernel({ tier: waitingTier(false), agent: { tier: "waits" } });
  expect(await kernel.tasks.run(message("x", { options: LIMIT }))).toMatchObject({ ok: false, status: "timeout" });
});
