import { randomUUID } from "node:crypto";
import { choiceData, type Outgoing } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import { GUILD_MARKUP } from "../../plugins/channels/guildchat/markup.ts";
import * as guild from "./guildchat.harness.ts";
import * as team from "./teamchat.harness.ts";

const render = createRender();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const signal = () => new AbortController().signal;
const QUESTION =
  "Tea is **ready** @everyone <!channel>.\n\n```buttons\n[With milk] [Without]\n[The leaves](https://example.org/tea)\n```\n\n```poll\nHow *many* cups?\n- one\n- two\n```";
const labelsOf = (rows: readonly object[] = []) =>
  rows.flatMap((row) => {
    const { components, elements = components } = row as { components?: object[]; elements?: object[] };
    return (elements ?? []).map((one) => {
      const { label, text, url } = one as { label?: string; text?: { text: string }; url?: string };
      return [label ?? text?.text, ...(url === undefined ? [] : [url])].join(" ");
    });
  });
const LABELS = ["With milk", "Without", "The leaves https://example.org/tea", "one", "two"];

describe("buttons and polls of an answer on teamchat", () => {
  async function stage(options: Parameters<typeof team.setStage>[0] = {}) {
    const one = await team.setStage(options);
    closing.push(async () => {
      expect(one.far.violations).toEqual([]);
      await one.stop();
    });
    await one.start();
    return one;
  }
  const out = (text: string, more: Partial<Outgoing> = {}): Outgoing => ({
    target: { channel: "teamchat", account: "main", chat: team.DIRECT },
    text,
    plain: render.to("plain", text),
    key: randomUUID(),
    ...more,
  });
  const channelOf = (one: team.Stage) => one.context.registered.channels[0]!.channel;

  it("are shown as buttons; one that is pressed is its label, said by who pressed it", async () => {
    const one = await stage();
    const { platformId: ts = "" } = await channelOf(one).send(out(QUESTION), signal());
    const [post] = one.far.shown(team.DIRECT);
    expect(labelsOf(post?.blocks)).toEqual(LABELS);
    expect(post?.words).toBe("Tea is *ready* @everyone <!channel>.\n\n*How _many_ cups?*");
    expect(one.far.alerts()).toEqual([]);
    const value = (post!.blocks!.at(-1)!.elements as { value: string }[])[0]!.value;
    one.far.press({ user: team.ADA, room: team.DIRECT, ts, value, label: "With milk" });
    await team.until(() => one.context.tasks.accepted.length === 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ text: "With milk", sender: { id: team.ADA }, chat: team.DIRECT });
    expect(one.context.tasks.accepted[0]).not.toHaveProperty("choice");
    // Somebody who is not allowed presses for nothing, and is told so alone.
    one.far.press({ user: team.MALLORY, room: team.DIRECT, ts, value, label: "With milk" });
    await team.until(() => one.far.whispers.length === 1);
    expect(one.context.tasks.accepted).toHaveLength(1);
  });

  it("of an answer that grows natively come with its end, and no fence is shown before", async () => {
    const one = await stage();
    const thread = one.far.say(team.DIRECT, { user: team.ADA, text: "tea?" }).ts;
    const target = { channel: "teamchat", account: "main", chat: team.DIRECT, thread };
    const parts = ["**Tea** is", "**Tea** is ready.\n\n```buttons", "**Tea** is ready.\n\n```buttons\n[Yes] [N\n```"];
    const { platformId: ts = "" } = await channelOf(one).send(out(parts[0]!, { target, grows: true }), signal());
    for (const part of parts) {
      await channelOf(one).edit?.(ts, out(part, { target, grows: true }), signal());
      expect(one.far.shown(team.DIRECT, thread)[0]?.words).not.toContain("`");
    }
    await channelOf(one).edit?.(ts, out("**Tea** is ready.\n\n```buttons\n[Yes] [No]\n```", { target }), signal());
    const [post] = one.far.shown(team.DIRECT, thread);
    expect([post?.words, labelsOf(post?.blocks), post?.streaming]).toEqual(["**Tea** is ready.", ["Yes", "No"], undefined]);
    expect(one.far.calls.map(({ method }) => method)).not.toContain("chat.update");
  });

  it("CHAN-07 are words where the agent writes no rich messages; many buttons stand in further blocks; alone they ask to choose", async () => {
    const one = await stage({ agents: [{ id: "anna" }, { id: "plain", settings: { richMessages: false } as never }] });
    await channelOf(one).send(out(QUESTION, { agent: "plain" }), signal());
    expect(one.far.shown(team.DIRECT)[0]?.blocks?.map(({ type }) => type)).toEqual(["rich_text"]);
    const many = Array.from({ length: 60 }, (_, n) => `[${n} ${"x".repeat(90)}]`).join(" ");
    await channelOf(one).send(out(`\`\`\`buttons\n${many}\n\`\`\``), signal());
    const post = one.far.shown(team.DIRECT)[1];
    expect(post?.blocks?.map(({ elements }) => elements?.length)).toEqual([undefined, 25, 25, 10]);
    expect(post?.words).toBe("Please choose:");
  });
});

describe("buttons and polls of an answer on guildchat", () => {
  async function stage(options: guild.StageOptions = {}) {
    const one = await guild.setStage(options);
    closing.push(() => one.stop());
    await one.start();
    return one;
  }
  const out = (chat: string, text: string, more: Partial<Outgoing> = {}): Outgoing => ({
    target: { channel: "guildchat", chat },
    text: render.to(GUILD_MARKUP, text),
    plain: render.to("plain", text),
    key: randomUUID(),
    ...more,
  });

  it("are shown as buttons; one that is pressed is its label, said by who pressed it", async () => {
    const one = await stage();
    const { channel } = one.context.registered.channels[0]!;
    const delivery = `out_${randomUUID()}`;
    const choices = [{ id: "yes", label: "Yes", data: choiceData(delivery, "yes") }];
    const { platformId = "" } = await channel.send(out(one.direct.id, QUESTION, { choices }), signal());
    const [post] = one.far.world.at(one.direct.id);
    expect(labelsOf(post?.components as object[])).toEqual([...LABELS, "Yes"]);
    expect(post?.content).toBe("Tea is **ready** @everyone \\<!channel>.\n\n**How \\*many\\* cups?**");
    one.far.press({ message: platformId, data: "say:0", from: one.friend.id });
    await guild.until(() => one.context.tasks.accepted.length === 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ text: "With milk", sender: { id: one.friend.id } });
    expect(one.context.tasks.accepted[0]).not.toHaveProperty("choice");
    const foreign = one.far.press({ message: platformId, data: "say:0", from: one.stranger.id });
    await guild.until(() => foreign.shown.length === 1);
    expect(one.context.tasks.accepted).toHaveLength(1);
  });

  it("CHAN-07 are words where the agent writes no rich messages; what no message holds is named in words", async () => {
    const one = await stage({ agents: [{ id: "anna" }, { id: "plain", settings: { richMessages: false } as never }] });
    const { channel } = one.context.registered.channels[0]!;
    await channel.send(out(one.direct.id, QUESTION, { agent: "plain" }), signal());
    const many = Array.from({ length: 27 }, (_, n) => `[${n}]`).join(" ");
    await channel.send(out(one.direct.id, `\`\`\`buttons\n${many}\n\`\`\``), signal());
    const [plain, full] = one.far.world.at(one.direct.id);
    expect(plain?.components).toEqual([]);
    expect(labelsOf(full?.components as object[])).toHaveLength(25);
    expect(full?.content).toBe("- 25\n- 26");
  });
});
