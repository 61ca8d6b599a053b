import { type Channel, choiceOf, definePlugin, type Inbound, type Outgoing, type Plugin, type Tasks } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { runIsolated } from "../faults/isolation.harness.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";

/** A chat with buttons or without, and everything that was said in it. */
function chat(buttons: boolean): { readonly plugin: Plugin<never>; readonly said: Outgoing[]; tasks(): Tasks } {
  const said: Outgoing[] = [];
  let tasks: Tasks | undefined;
  const plugin = definePlugin({
    kind: "channel",
    name: "chat",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["tasks"],
    setup(ctx) {
      tasks = ctx.tasks;
      const channel: Channel = {
        name: "chat",
        traits: { maxChars: 500, unit: "utf16", dialect: "plain", ...(buttons ? { choices: true as const } : {}) },
        send: async (out) => ({ platformId: `m${said.push(out)}` }),
      };
      const handle = ctx.provide.channel(channel);
      return { start: async () => handle.ready() };
    },
  }) as Plugin<never>;
  return { plugin, said, tasks: () => tasks as Tasks };
}

/** Asks, and takes the choices of what it has asked. */
function asker(take: (inbound: Inbound) => boolean): { readonly plugin: Plugin<never>; readonly seen: Inbound[]; tasks(): Tasks } {
  const seen: Inbound[] = [];
  let tasks: Tasks | undefined;
  const plugin = definePlugin({
    kind: "feature",
    name: "asker",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["tasks"],
    setup(ctx) {
      tasks = ctx.tasks;
      ctx.hooks.inbound.tap((inbound) => {
        if (inbound.choice === undefined) return undefined;
        seen.push(inbound);
        return take(inbound) ? { reject: `taken: ${inbound.choice.id}` } : undefined;
      });
    },
  }) as Plugin<never>;
  return { plugin, seen, tasks: () => tasks as Tasks };
}

const CHOICES = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const question = { kind: "proactive" as const, target: { channel: "chat", chat: "c1" }, text: "Go?", choices: CHOICES };
const heard = (text: string, more: object = {}) => ({ entry: "channel", channel: "chat", chat: "c1", sender: { id: "u1" }, text, agent: "a", ...more });

it("K27 a pressed button reaches the tap that takes it, and no agent", async () => {
  const there = chat(true);
  const asks = asker(() => true);
  const { tier, events } = await runKernel({ inline: [there.plugin, asks.plugin] });
  const { sent } = await asks.tasks().deliver(question);
  await sent;
  const [, no] = there.said[0]?.choices ?? [];
  await there.tasks().accept(heard("No", { choice: choiceOf(no?.data ?? "") }));
  await vi.waitFor(() => expect(events.map(({ type, data }) => [type, data?.reason])).toContainEqual(["message:dropped", "taken: no"]));
  expect(asks.seen.map(({ choice, sender }) => [choice?.id, sender?.id])).toEqual([["no", "u1"]]);
  expect([tier.prompts, there.said.length]).toEqual([[], 1]);
});

it("K27 a number answers where there are no buttons; without a question it is a message for the agent", async () => {
  const there = chat(false);
  const asks = asker(() => true);
  const { tier } = await runKernel({ inline: [there.plugin, asks.plugin] });
  await there.tasks().accept(heard("2"));
  await vi.waitFor(() => expect(tier.prompts).toEqual(["2"]));
  const { id, sent } = await asks.tasks().deliver(question);
  await sent;
  await there.tasks().accept(heard("2"));
  await vi.waitFor(() => expect(asks.seen.map(({ choice }) => choice)).toEqual([{ delivery: id, id: "no" }]));
  expect(tier.prompts).toHaveLength(1);
  await asks.tasks().closeChoices(id);
  await there.tasks().accept(heard("1"));
  await vi.waitFor(() => expect(tier.prompts).toEqual(["2", "1"]));
});

it("K27 a choice that nothing takes is answered in words, and can be made again", async () => {
  const there = chat(true);
  let takes = false;
  const asks = asker(() => takes);
  const { tier } = await runKernel({ inline: [there.plugin, asks.plugin] });
  const { id, sent } = await asks.tasks().deliver(question);
  await sent;
  const press = heard("Yes", { choice: { delivery: id, id: "yes" }, platformId: "m1" });
  await there.tasks().accept(press);
  await vi.waitFor(() =>
    expect(there.said.map(({ text }) => text)).toEqual(["Go?", "Your choice was not taken: nothing here waits for it now. Nothing has been done."]),
  );
  expect(there.said[1]?.target).toMatchObject({ chat: "c1", replyTo: "m1" });
  takes = true;
  await there.tasks().accept(press);
  await vi.waitFor(() => expect(asks.seen).toHaveLength(2));
  expect([tier.prompts, there.said.length]).toEqual([[], 2]);
});

it("K27 a press that comes again after its question was closed is the message that was taken", async () => {
  const there = chat(true);
  const asks = asker(() => true);
  await runKernel({ inline: [there.plugin, asks.plugin] });
  const { id, sent } = await asks.tasks().deliver(question);
  await sent;
  const press = heard("Yes", { choice: { delivery: id, id: "yes" }, dedupKey: "update-1" });
  await there.tasks().accept(press);
  await asks.tasks().closeChoices(id, "Yes, says Ada");
  expect(await there.tasks().accept(press)).toMatchObject({ duplicate: true });
  await expect(there.tasks().accept({ ...press, dedupKey: "update-2" })).rejects.toMatchObject({ code: "SVC_CHOICE_CLOSED", status: 410 });
  expect(asks.seen).toHaveLength(1);
});

it("K27 a question is open and can be answered after a restart", async () => {
  const dataFolder = await temporaryFolder();
  const first = { there: chat(false), asks: asker(() => true) };
  const { kernel } = await runKernel({ inline: [first.there.plugin, first.asks.plugin], dataFolder });
  const { id, sent } = await first.asks.tasks().deliver(question);
  await sent;
  await kernel.stop();
  const second = { there: chat(false), asks: asker(() => true) };
  await runKernel({ inline: [second.there.plugin, second.asks.plugin], dataFolder });
  await second.there.tasks().accept(heard("1"));
  await vi.waitFor(() => expect(second.asks.seen.map(({ choice }) => choice)).toEqual([{ delivery: id, id: "yes" }]));
  expect(await second.asks.tasks().closeChoices(id, "Yes, says Ada")).toBe(true);
});

it("K27 only the plugin of the channel hands choices in, pressed or typed: no other plugin, in the daemon or apart", async () => {
  const there = chat(false);
  const asks = asker(() => true);
  const forged: unknown[] = [];
  const forger = definePlugin({
    kind: "feature",
    name: "forger",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["tasks", "actions"],
    setup(ctx) {
      ctx.provide.action({
        name: "forge.choice",
        description: "For a test.",
        timeoutMs: 5_000,
        input: { type: "object", properties: { delivery: { type: "string" } } },
        output: {},
        async run({ delivery }) {
          await ctx.tasks.accept(heard("yes", { choice: { delivery: String(delivery), id: "yes" } })).catch((error) => forged.push(error.code));
          await ctx.tasks.accept(heard("1"));
          return {};
        },
      });
    },
  }) as Plugin<never>;
  const apart = `ctx.provide.action({ name: "apart.choice", description: "For a test.", timeoutMs: 20_000, input: { type: "object", additionalProperties: true }, output: {}, async run({ delivery }) {
    const message = { entry: "channel", channel: "chat", chat: "c1", sender: { id: "u1" }, agent: "a" };
    const code = await ctx.tasks.accept({ ...message, text: "yes", choice: { delivery, id: "yes" } }).then(() => "taken", (error) => error.code);
    await ctx.tasks.accept({ ...message, text: "1" });
    return { code };
  } });`;
  const { tier, act } = await runIsolated([{ name: "apart", capabilities: ["tasks"], setup: apart }], { inline: [there.plugin, asks.plugin, forger] });
  const { id, sent } = await asks.tasks().deliver(question);
  await sent;
  await act("forge.choice", { delivery: id });
  expect(await act("apart.choice", { delivery: id })).toEqual({ code: "SVC_CHOICE_FOREIGN" });
  await vi.waitFor(() => expect(tier.prompts.join()).toMatch(/^1\D+1$|^1,1$/));
  expect([forged, asks.seen]).toEqual([["SVC_CHOICE_FOREIGN"], []]);
});
