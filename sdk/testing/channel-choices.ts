import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Outgoing } from "../channel.ts";
import { type ChoiceButton, choiceData } from "../choices.ts";
import { accepted, acceptedBy, type Has, type It, LIMIT_MS, outgoing, type Running, say, send, sent } from "./channel-run.ts";
import { inTime } from "./runner.ts";

const CHOICES = [
  { id: "approve", label: "Approve it" },
  { id: "reject", label: "Reject <it>" },
  { id: "a".repeat(32), label: "Ask me again in an hour, when I am back" },
];

interface Question {
  readonly delivery: string;
  readonly out: Outgoing;
  readonly buttons: readonly ChoiceButton[];
}

/** A question as the kernel hands it over. */
function question({ far }: Running, text: string): Question {
  const delivery = `out_${randomUUID()}`;
  const buttons = CHOICES.map((choice) => ({ ...choice, data: choiceData(delivery, choice.id) }));
  return { delivery, buttons, out: { ...outgoing(far.target, text), choices: buttons } };
}

function shownButtons({ far }: Running): readonly { readonly label: string; readonly data: string }[] {
  const buttons = far.shown().at(-1)?.buttons;
  assert.ok(buttons, "shown() names no buttons; a far end of a channel with `traits.choices` must");
  return buttons;
}

/** Cases about the buttons of a channel with `traits.choices`. */
export function describeChoices(it: It, has: Has): void {
  it("shows choices as buttons that carry their data; an edit without them takes them away", async (running) => {
    const { channel } = running;
    if (channel.traits.choices !== true) return;
    const { out, buttons } = question(running, "Shall I?");
    const { platformId } = await sent(channel, out);
    assert.deepEqual(
      shownButtons(running).map(({ label, data }) => ({ label, data })),
      buttons.map(({ label, data }) => ({ label, data })),
    );
    if (!channel.edit) return;
    await inTime(LIMIT_MS, "edit", channel.edit(platformId, outgoing(out.target, "Approved."), new AbortController().signal));
    assert.deepEqual(shownButtons(running), []);
    assert.equal(running.far.shown().at(-1)?.text, "Approved.");
  });

  if (!has("receive")) return;

  it("a pressed button comes in as the choice of the person who pressed it, once", async (running) => {
    const { channel, far } = running;
    if (channel.traits.choices !== true) return;
    assert.ok(far.press, "the far end has no press; a far end of a channel with `traits.choices` must");
    const { out, delivery, buttons } = question(running, "Shall I?");
    const { platformId } = await sent(channel, out);
    await far.press({ platformId, data: buttons[1]?.data ?? "", from: "friend" });
    const [message] = await accepted(running, 1);
    assert.deepEqual(message?.choice, { delivery, id: "reject" });
    assert.ok(message.sender?.id, "no sender id");
    assert.equal(message.chat, far.target.chat);
    assert.ok(message.dedupKey, "no dedupKey");
  });

  it("a stranger's press and a typed text are no choice", async (running) => {
    const { channel, far } = running;
    if (channel.traits.choices !== true) return;
    const { out, buttons } = question(running, "Shall I?");
    const { platformId } = await sent(channel, out);
    await far.press?.({ platformId, data: buttons[0]?.data ?? "", from: "stranger" });
    const where = has("direct") ? "direct" : "group";
    const text = buttons[0]?.data ?? "";
    await say(running, { text, from: "friend", where, ...(where === "group" ? { mention: true } : {}) });
    await accepted(running, 1);
    assert.deepEqual(
      acceptedBy(running).map(({ choice }) => choice),
      [undefined],
    );
  });

  it("a press that the kernel does not take stands in the way of nothing", async (running) => {
    const { channel, far, context } = running;
    if (channel.traits.choices !== true) return;
    const { tasks } = context;
    const { accept } = tasks;
    let presses = 0;
    Object.assign(tasks, {
      accept: async (message: Parameters<typeof accept>[0]) => {
        if (message.choice === undefined) return accept(message);
        presses += 1;
        throw Object.assign(new Error("This can no longer be answered here."), { code: "SVC_CHOICE_CLOSED", status: 410 });
      },
    });
    const { out, buttons } = question(running, "Shall I?");
    const { platformId } = await sent(channel, out);
    await far.press?.({ platformId, data: buttons[0]?.data ?? "", from: "friend" });
    await send(channel, outgoing(far.target, "something else"));
    await say(running, { text: "marker", from: "friend", where: has("direct") ? "direct" : "group", ...(has("direct") ? {} : { mention: true }) });
    const [message] = await accepted(running, 1);
    assert.ok(message?.text.includes("marker"));
    assert.equal(presses, 1, "a press that was refused for good was handed over again");
  });
}
