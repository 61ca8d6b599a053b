import { randomUUID } from "node:crypto";
import { type ChoiceButton, choiceData, type Message, type Outgoing } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { FRIEND } from "./bot-api.harness.ts";
import { GROUP, type Stage, setStage, TOKEN, until } from "./botmsg.harness.ts";

const stages: Stage[] = [];
async function stage(options?: Parameters<typeof setStage>[0]): Promise<Stage> {
  const made = await setStage(options);
  stages.push(made);
  await made.start();
  return made;
}
afterEach(async () => {
  for (const one of stages.splice(0)) await one.stop();
});

const channelOf = ({ context }: Stage) => context.registered.channels[0]!.channel;
const choicesOf = (delivery: string, ...labels: string[]): readonly ChoiceButton[] =>
  labels.map((label, at) => ({ id: `c${at}`, label, data: choiceData(delivery, `c${at}`) }));

async function ask(one: Stage, { chat = FRIEND.id, labels = ["Yes", "No"], text = "Shall I?" }: { chat?: number; labels?: string[]; text?: string } = {}) {
  const delivery = `out_${randomUUID()}`;
  const choices = choicesOf(delivery, ...labels);
  const out: Outgoing = { target: { channel: "botmsg", account: "main", chat: String(chat) }, text, plain: text, key: delivery, choices };
  const { platformId = "" } = await channelOf(one).send(out, new AbortController().signal);
  return { delivery, out, choices, message: Number(platformId) };
}

/** The kernel refuses each choice, for this reason. */
function refuse({ context }: Stage, words: string, status = 410): Message[] {
  const { tasks } = context;
  const { accept } = tasks;
  const refused: Message[] = [];
  Object.assign(tasks, {
    accept: async (message: Message) => {
      if (message.choice === undefined) return accept(message);
      refused.push(message);
      throw Object.assign(new Error(words), { status });
    },
  });
  return refused;
}

describe("K27 questions with buttons", () => {
  it("short answers stand beside each other, long ones below; an agent's own buttons stay", async () => {
    const one = await stage();
    await ask(one, { labels: ["Yes", "No", "Later"] });
    await ask(one, { labels: ["Approve the deployment", "Reject it for now"] });
    await ask(one, { labels: ["Yes"], text: "Go?\n\n```buttons\n[Details](https://example.org/d)\n```" });
    const rows = one.api.shown.map(({ markup }) =>
      (markup as { inline_keyboard: { text: string }[][] }).inline_keyboard.map((row) => row.map(({ text }) => text)),
    );
    expect(rows).toEqual([[["Yes", "No", "Later"]], [["Approve the deployment"], ["Reject it for now"]], [["Details"], ["Yes"]]]);
  });

  it("are there for an agent without rich messages, too", async () => {
    const one = await stage({ agents: [{ id: "anna", mentions: [], settings: { richMessages: false } as never }] });
    await ask(one);
    expect(one.api.shown[0]?.markup).toBeDefined();
  });

  it("a press is answered once it is kept: nothing to read, the choice in the message", async () => {
    const one = await stage();
    const { delivery, choices, message } = await ask(one);
    one.api.press(TOKEN, { from: FRIEND, message, data: choices[1]!.data });
    await until(() => one.api.answers.length === 1);
    expect(one.api.answers).toMatchObject([{ alert: false }]);
    expect(one.api.answers[0]).not.toHaveProperty("text");
    expect(one.context.tasks.accepted).toMatchObject([{ text: "No", choice: { delivery, id: "c1" }, sender: { id: "700" }, chat: "700", direct: true }]);
  });

  it("who presses what is decided reads how, in an alert of at most 200 characters", async () => {
    const one = await stage();
    const { choices, message } = await ask(one);
    const refused = refuse(one, `This can no longer be answered here: ${"x".repeat(300)}`);
    one.api.press(TOKEN, { from: FRIEND, message, data: choices[0]!.data });
    await until(() => one.api.answers.length === 1);
    expect(one.api.answers[0]).toMatchObject({ alert: true, text: expect.stringMatching(/^This can no longer be answered here: x+$/) });
    expect(refused).toHaveLength(1);
    expect(one.context.events.published.filter(({ type }) => type === "message:dropped")).toHaveLength(1);
  });

  it("while the kernel cannot keep it, a press is tried again and not answered", async () => {
    const one = await stage();
    const { choices, message } = await ask(one);
    const { tasks } = one.context;
    const { accept } = tasks;
    let failures = 0;
    Object.assign(tasks, {
      accept: async (given: Message) => {
        failures += 1;
        if (failures < 3) throw new Error("disk full");
        expect(one.api.answers).toEqual([]);
        return accept(given);
      },
    });
    one.api.press(TOKEN, { from: FRIEND, message, data: choices[0]!.data });
    await until(() => one.api.answers.length === 1);
    expect(one.context.tasks.accepted).toHaveLength(1);
  });

  it("somebody else's press in a group is told to that person alone", async () => {
    const one = await stage();
    const { choices, message } = await ask(one, { chat: GROUP });
    one.api.press(TOKEN, { from: { id: 5, is_bot: false, first_name: "X" }, message, data: choices[0]!.data });
    await until(() => one.api.answers.length === 1);
    expect(one.api.answers).toMatchObject([{ alert: true, text: "You cannot answer this here." }]);
    expect([one.context.tasks.accepted, one.context.tasks.delivered]).toEqual([[], []]);
  });

  it("an old button, of a message that the platform shows no more, is a choice of the chat that it was pressed in", async () => {
    const one = await stage();
    const { delivery, choices, message } = await ask(one, { chat: GROUP });
    one.api.press(TOKEN, { from: FRIEND, message, data: choices[0]!.data, old: true });
    await until(() => one.context.tasks.accepted.length === 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ choice: { delivery, id: "c0" }, chat: String(GROUP) });
    // Of an agent's own buttons nothing is left to read.
    one.api.press(TOKEN, { from: FRIEND, message, data: "0.0", old: true });
    one.api.say(TOKEN, { chat: FRIEND.id, text: "marker" });
    await until(() => one.context.tasks.accepted.length === 2);
    expect(one.context.tasks.accepted[1]?.text).toBe("marker");
  });

  it("data made up in another chat comes in with the chat that it was pressed in, never with that of the question", async () => {
    const one = await stage();
    const asked = await ask(one, { chat: FRIEND.id });
    one.api.press(TOKEN, { from: FRIEND, message: asked.message, data: asked.choices[0]!.data, chat: GROUP });
    await until(() => one.context.tasks.accepted.length === 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ chat: String(GROUP), choice: { delivery: asked.delivery } });
  });

  it("pressed twice is two messages with keys of their own, and the same update twice is one", async () => {
    const one = await stage();
    const { choices, message } = await ask(one);
    for (let n = 0; n < 2; n += 1) one.api.press(TOKEN, { from: FRIEND, message, data: choices[0]!.data });
    await until(() => one.context.tasks.accepted.length === 2);
    one.api.repeat(TOKEN);
    one.api.say(TOKEN, { chat: FRIEND.id, text: "marker" });
    await until(() => one.context.tasks.accepted.length >= 3);
    expect(one.context.tasks.accepted.map(({ text }) => text)).toEqual(["Yes", "Yes", "marker"]);
    expect(new Set(one.context.tasks.accepted.map(({ dedupKey }) => dedupKey)).size).toBe(3);
  });

  it("an edit without choices takes the buttons away, also when only they go", async () => {
    const one = await stage();
    const { out, message } = await ask(one);
    const { choices: _, ...plain } = out;
    await channelOf(one).edit?.(String(message), plain, new AbortController().signal);
    expect(one.api.shown[0]).toMatchObject({ text: "Shall I?" });
    expect(one.api.shown[0]?.markup).toBeUndefined();
  });
});
