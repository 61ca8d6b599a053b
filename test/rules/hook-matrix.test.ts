import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import webhooks from "../../plugins/features/webhooks/index.ts";
import { baseOf, post, type Running, runKernel } from "../kit/kernel.ts";

const HOOKS = ["inbound", "route", "assembleContext", "dispatch", "deliver", "emit"] as const;
const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

/** What the sender said: an entry may put its own words before it. */
const saidIn = (words: string) => words.split("\n").at(-1) as string;

/** Notes which hooks fired for which text. */
function witness() {
  const seen = new Map<string, Set<string>>();
  const note = (words: string, hook: string) => {
    const text = saidIn(words);
    const hooks = seen.get(text) ?? new Set<string>();
    hooks.add(hook);
    seen.set(text, hooks);
  };
  const texts = new Map<string, string>();
  const plugin = definePlugin({
    kind: "feature",
    name: "witness",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      ctx.hooks.inbound.tap(({ id, text }) => {
        texts.set(id, text);
        note(text, "inbound");
      });
      ctx.hooks.route.tap(({ text }) => note(text, "route") as undefined);
      ctx.hooks.assembleContext.tap((context, turn) => {
        note(turn.messages[0].text, "assembleContext");
        return context;
      });
      ctx.hooks.dispatch.tap((turn) => note(turn.messages[0].text, "dispatch") as undefined);
      ctx.hooks.deliver.tap((delivery) => {
        note(texts.get(delivery.taskId ?? "") ?? "", "deliver");
        return delivery;
      });
      ctx.hooks.emit.tap(({ type, ref }) => {
        if (type === "task:completed") note(texts.get(ref ?? "") ?? "", "emit");
      });
    },
  });
  return { plugin: plugin as Plugin<never>, seen };
}

/** Each entry that exists, and how a message gets in through it. A new entry adds its line. */
const ENTRIES: Record<string, (running: Running, text: string) => Promise<void>> = {
  "POST /task": async ({ kernel }, text) => void (await post(baseOf(kernel), "/task", { agent: "a", message: text })),
  "POST /ask": async ({ kernel }, text) => void (await post(baseOf(kernel), "/ask", { message: text })),
  "POST /api/tasks/:id/followup": async ({ kernel, tier, message }, text) => {
    const first = kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    const { status } = await post(baseOf(kernel), `/api/tasks/${kernel.tasks.running()[0]?.id}/followup`, { message: text });
    expect(status).toBeLessThan(300);
    tier.release();
    await first;
    await until(() => tier.prompts.includes(text));
    await until(() => kernel.tasks.running().length === 0);
  },
  "POST /webhook/:agentId/:source": async ({ kernel }, text) =>
    void (await fetch(`${baseOf(kernel)}/webhook/a/acme`, { method: "POST", body: text, headers: { "x-forge-token": "the-secret" } })),
  "a plugin's tasks.run": async ({ kernel, message }, text) => void (await kernel.tasks.run(message(text, { entry: "channel", channel: "acme" }))),
};

/** A kernel that serves every entry. */
const around = (plugin: Plugin<never>) => ({
  inline: [plugin, webhooks as unknown as Plugin<never>],
  listen: true,
  env: { ...process.env, ACME_SECRET: "the-secret" },
  config: { webhooks: [{ id: "acme", source: "acme", agentId: "a", secretEnv: "ACME_SECRET" }] },
});

describe("hook by entry", () => {
  for (const [entry, send] of Object.entries(ENTRIES)) {
    it(`every hook fires for a message through ${entry}`, async () => {
      const { plugin, seen } = witness();
      const running = await runKernel(around(plugin));
      await send(running, "the message");
      // Some entries answer before the work is done.
      await until(() => seen.get("the message")?.has("emit") === true);
      expect([...(seen.get("the message") ?? [])].sort()).toEqual([...HOOKS].sort());
    });

    it(`no way round a policy through ${entry}: inbound drops it, and a required deliver tap keeps every word back`, async () => {
      const policy = definePlugin({
        kind: "feature",
        name: "policy",
        version: "1.0.0",
        svc: "*",
        capabilities: [],
        setup: (ctx) => ctx.hooks.inbound.tap(({ text }) => (saidIn(text) === "forbidden" ? { reject: "policy" } : undefined)),
      });
      const running = await runKernel(around(policy as Plugin<never>));
      await Promise.race([send(running, "forbidden"), new Promise((resolve) => setTimeout(resolve, 1_000))]).catch(() => {});
      await until(() => running.events.some(({ type }) => type === "message:dropped"));
      expect(running.tier.prompts.map(saidIn)).not.toContain("forbidden");
    });
  }

  it("a required deliver tap sees the whole answer before any of it is streamed", async () => {
    const censor = definePlugin({
      kind: "feature",
      name: "censor",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) => ctx.hooks.deliver.tap((delivery) => ({ ...delivery, text: delivery.text.replaceAll("secret", "[removed]") }), { required: true }),
    });
    const { kernel, message } = await runKernel({ inline: [censor as Plugin<never>] });
    let streamed = "";
    const result = await kernel.tasks.run(message("a secret word"), (event) => {
      if (event.type === "text") streamed += event.text;
    });
    expect(streamed).toBe("a [removed] word");
    expect(result.reply).toBe("a [removed] word");
    expect((await kernel.traces.get(result.taskId))?.response).toBe("a [removed] word");
  });

  it("a required deliver tap that fails keeps the answer back and says so", async () => {
    const broken = definePlugin({
      kind: "feature",
      name: "broken",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) => ctx.hooks.deliver.tap(() => Promise.reject(new Error("list away")), { required: true }),
    });
    const { kernel, message } = await runKernel({ inline: [broken as Plugin<never>] });
    expect(await kernel.tasks.run(message("words"))).toMatchObject({ ok: false, reply: "", errorKind: "held" });
  });
});
