import { definePlugin, type Plugin, type TierEvent } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { runKernel } from "../kit/kernel.ts";

/** A stream that notes how it ends. */
function watched() {
  const seen = { read: 0, returned: 0 };
  const stream: AsyncIterable<TierEvent> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        seen.read += 1;
        return { done: false, value: { type: "done", text: "taken over" } };
      },
      async return() {
        seen.returned += 1;
        return { done: true, value: undefined };
      },
    }),
  };
  return { seen, stream };
}

/** Takes each turn over, once `ready` has resolved. */
const takes = (ready: Promise<unknown>, stream: AsyncIterable<TierEvent>, timeoutMs?: number) =>
  definePlugin({
    kind: "feature",
    name: "takes",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup: (ctx) =>
      void ctx.hooks.dispatch.tap(
        async () => {
          await ready;
          return stream;
        },
        timeoutMs === undefined ? {} : { timeoutMs },
      ),
  }) as unknown as Plugin<never>;

describe("a stream that a plugin hands over for a turn", () => {
  it("is read, and closed once it has ended", async () => {
    const { seen, stream } = watched();
    const { kernel, message } = await runKernel({ inline: [takes(Promise.resolve(), stream)] });
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true, reply: "taken over" });
    expect(seen).toEqual({ read: 1, returned: 1 });
  });

  it("is closed unread when the turn was cancelled while it was asked for", async () => {
    const { seen, stream } = watched();
    let hand = () => {};
    const { kernel, message } = await runKernel({ inline: [takes(new Promise<void>((resolve) => (hand = resolve)), stream)] });
    const result = kernel.tasks.run(message("hello"));
    const id = await vi.waitFor(() => {
      const [task] = kernel.tasks.running();
      expect(task?.step).toBe("takes");
      return task?.id as string;
    });
    await kernel.tasks.cancel(id);
    expect(await result).toMatchObject({ ok: false, errorKind: "cancelled" });
    expect(seen.returned).toBe(0);
    hand();
    await vi.waitFor(() => expect(seen).toEqual({ read: 0, returned: 1 }));
  });

  it("is closed unread when it comes after the tap's time, and the agent's own engine has the turn", async () => {
    const { seen, stream } = watched();
    let hand = () => {};
    const { kernel, message } = await runKernel({ inline: [takes(new Promise<void>((resolve) => (hand = resolve)), stream, 20)] });
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true, reply: "hello" });
    hand();
    await vi.waitFor(() => expect(seen).toEqual({ read: 0, returned: 1 }));
  });

  it("that throws when it is closed disturbs nobody", async () => {
    let hand = () => {};
    const stream: AsyncIterable<TierEvent> = {
      [Symbol.asyncIterator]() {
        throw new Error("I am broken");
      },
    };
    const { kernel, message, events } = await runKernel({ inline: [takes(new Promise<void>((resolve) => (hand = resolve)), stream, 20)] });
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true, reply: "hello" });
    const failures = () => kernel.health().plugins.find(({ id }) => id === "feature-takes")?.failures;
    const before = failures();
    hand();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(failures()).toBe(before);
    expect(kernel.health().ok).toBe(true);
    expect(events.filter(({ type }) => type === "plugin:failed")).toEqual([]);
  });
});
