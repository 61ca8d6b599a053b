import type { Tasks } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { type Asking, createChat, runAsking } from "./approvals.harness.ts";

const soon = (check: () => unknown) => vi.waitFor(check, { timeout: 15_000, interval: 10 });
const me = { by: "Bob", surface: "command line" };

describe("withheld deliveries", () => {
  const policy = (text: string) => (text.includes("secret") ? "it holds a secret" : undefined);
  const withholding = () => {
    let tasks: Tasks | undefined;
    const plugin = {
      kind: "feature" as const,
      name: "policy",
      version: "1.0.0",
      svc: "*",
      capabilities: ["tasks" as const],
      setup(ctx: { tasks: Tasks; hooks: { deliver: { tap(tap: (delivery: { text: string; kind: string }) => unknown, options: object): void } } }) {
        tasks = ctx.tasks;
        ctx.hooks.deliver.tap(
          (delivery) => {
            const held = delivery.kind === "notice" ? undefined : policy(delivery.text);
            return held === undefined ? delivery : { ...delivery, held };
          },
          { required: true },
        );
      },
    };
    return { plugin: plugin as never, tasks: () => tasks as Tasks };
  };
  const channelMessage = (running: Asking, text: string) => running.message(text, { entry: "channel", channel: "chat", chat: "c9" });

  it("become a question; approved they are sent, rejected they are dropped", async () => {
    const running = await runAsking({ inline: [withholding().plugin] });
    const { approvals, chat, kernel } = running;
    const results = [await kernel.tasks.run(channelMessage(running, "first secret")), await kernel.tasks.run(channelMessage(running, "second secret"))];
    await soon(async () => expect(await approvals.list({ open: true })).toHaveLength(2));
    const open = await approvals.list({ open: true });
    const [first, second] = ["first", "second"].map((word) => open.find(({ detail }) => detail?.includes(word)));
    expect(first).toMatchObject({ kind: "delivery", requestedBy: "agent a", title: "An answer to chat c9 is withheld: it holds a secret" });
    await approvals.decide(first?.id ?? "", "approve", me);
    await approvals.decide(second?.id ?? "", "reject", me);
    await soon(() => expect(chat.said.filter(({ target }) => target.chat === "c9").map(({ text }) => text)).toContain("first secret"));
    await soon(async () =>
      expect(await kernel.traces.get(results[1]?.taskId ?? "")).toMatchObject({ errorKind: "held", error: expect.stringContaining("rejected by Bob") }),
    );
    await soon(async () => expect(await running.tasks.withheld()).toEqual([]));
    expect(chat.said.some(({ text, target }) => target.chat === "c9" && text.includes("second secret"))).toBe(false);
  });

  it("are not asked about where they are the service's own words, such as the question about one", async () => {
    const strict = {
      kind: "feature" as const,
      name: "strict",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup(ctx: { hooks: { deliver: { tap(tap: (delivery: object) => unknown): void } } }) {
        ctx.hooks.deliver.tap((delivery) => ({ ...delivery, held: "everything is held" }));
      },
    };
    const running = await runAsking({ inline: [strict as never] });
    await running.kernel.tasks.run(channelMessage(running, "an answer"));
    await soon(async () => expect((await running.tasks.withheld()).map(({ delivery }) => delivery.kind).sort()).toEqual(["notice", "reply"]));
    expect((await running.approvals.list()).map(({ detail }) => detail)).toEqual(["an answer"]);
  });

  it("that somebody else decides need no answer any more", async () => {
    const running = await runAsking({ inline: [withholding().plugin] });
    const { approvals, kernel, tasks } = running;
    const { withheld } = await kernel.tasks.run(channelMessage(running, "a secret"));
    await soon(async () => expect(await approvals.list({ open: true })).toHaveLength(1));
    await tasks.refuse(withheld ?? "", "no");
    await soon(async () => expect((await approvals.list())[0]).toMatchObject({ state: "withdrawn" }));
  });

  it("of before the start are asked about, once; none with the setting off", async () => {
    const dataFolder = await temporaryFolder();
    const off = await runAsking({ dataFolder, inline: [withholding().plugin], approvals: { withheld: false } });
    await off.kernel.tasks.run(channelMessage(off, "a secret"));
    expect(await off.approvals.list()).toEqual([]);
    await off.kernel.stop();
    const on = await runAsking({ dataFolder, inline: [withholding().plugin] });
    await soon(async () => expect(await on.approvals.list({ open: true })).toHaveLength(1));
    await on.kernel.stop();
    const again = await runAsking({ dataFolder, inline: [withholding().plugin], chat: createChat() });
    await again.kernel.tasks.run(channelMessage(again, "another secret"));
    await soon(async () => expect(await again.approvals.list({ open: true })).toHaveLength(2));
  });
});
