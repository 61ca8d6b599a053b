import { readFile } from "node:fs/promises";
import { definePlugin, type Plugin, type Turn } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/channels/teamchat/index.ts";
import { runKernel } from "../kit/kernel.ts";
import type { Teamchat } from "../kit/teamchat/server.ts";
import { ADA, BOT, CHANNEL, DIRECT, furnish, until } from "./teamchat.harness.ts";

let far: Teamchat;
afterEach(async () => {
  expect(far.violations).toEqual([]);
  await far.close();
});

/** An engine that says `answer` piece by piece. */
function telling(answer: string, turns: Turn[] = []): Plugin {
  return definePlugin({
    kind: "tier",
    name: "telling",
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: [],
    setup(ctx) {
      ctx.provide.tier({
        name: "telling",
        async *run(turn) {
          turns.push(turn);
          for (let at = 0; at < answer.length; at += 400) {
            yield { type: "text" as const, text: answer.slice(at, at + 400) };
            await new Promise((resolve) => setTimeout(resolve, 10));
          }
          yield { type: "done" as const };
        },
      });
    },
  });
}

async function daemon(answer: string, turns: Turn[] = []) {
  far = await furnish();
  const { botToken, appToken } = far.world.workspaces[0]!;
  const running = await runKernel({
    agent: { tier: "telling" },
    inline: [telling(answer, turns) as Plugin<never>, plugin as never],
    config: { channels: { teamchat: { enabled: true, apiRoot: far.root, botToken, appToken, agentBinding: "a", allowFrom: [ADA] } } },
  });
  await until(() => far.sockets.open() === 1);
  return running;
}

/** Words, tables and code, each line of which can be told from the others. */
function longAnswer(length: number): string {
  const parts: string[] = [];
  for (let n = 0; parts.join("\n\n").length < length; n += 1) {
    parts.push(`## Part ${n}\n\nWord-${n} is **bold**, and a < b & c > d.`);
    parts.push(`| name | value |\n| --- | --- |\n${Array.from({ length: 6 }, (_, row) => `| row-${n}-${row} | ${row} |`).join("\n")}`);
    parts.push(`\`\`\`ts\n${Array.from({ length: 12 }, (_, line) => `const line_${n}_${line} = "<${n}>" && ${line};`).join("\n")}\n\`\`\``);
  }
  return parts.join("\n\n");
}

const marks = (text: string) => [...text.matchAll(/Word-\d+|row-\d+-\d+|line_\d+_\d+/g)].map(([mark]) => mark);

describe("a daemon on teamchat", () => {
  for (const [where, room] of [
    ["a channel", CHANNEL],
    ["a direct conversation", DIRECT],
    ["an assistant's thread", DIRECT],
  ] as const)
    it(`CHAN-03 teamchat a 30,000-character answer with tables and code arrives whole in ${where}, and grows visibly`, { timeout: 120_000 }, async () => {
      const answer = longAnswer(30_000);
      await daemon(answer);
      const thread = where === "an assistant's thread" ? far.say(room, { user: BOT, text: "How can I help?" }).ts : undefined;
      const asked = far.say(room, { user: ADA, text: `<@${BOT}> tell me`, ...(thread === undefined ? {} : { thread }) });
      const grown: number[] = [];
      const shown = () => far.shown(room).filter(({ ts }) => ts !== thread);
      await until(() => {
        const length = shown().reduce((sum, { words }) => sum + words.length, 0);
        if (length !== grown.at(-1)) grown.push(length);
        return (
          marks(
            shown()
              .map(({ words }) => words)
              .join("\n"),
          ).length === marks(answer).length && far.calls.at(-1)!.at < performance.now() - 1_500
        );
      });
      const texts = shown().map(({ words }) => words);
      expect(marks(texts.join("\n"))).toEqual(marks(answer));
      expect(texts.length).toBeGreaterThan(7);
      expect(grown.length).toBeGreaterThan(6);
      expect(grown).toEqual([...grown].sort((left, right) => left - right));
      // Each message that holds code closes its fence.
      for (const text of texts) expect((text.match(/^```/gm) ?? []).length % 2).toBe(0);
      expect(texts.join("\n")).toContain("a < b & c > d");
      for (const post of shown()) expect(post.streaming).toBeUndefined();
      if (room === CHANNEL) expect(shown().every(({ threadTs }) => threadTs === asked.ts)).toBe(true);
      expect(far.calls.some(({ method }) => method === "chat.startStream")).toBe(thread !== undefined);
    });

  it("K17 K26 a picture goes both ways, and the message is acknowledged with an emoji", async () => {
    const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, ...Array.from({ length: 40_000 }, (_, n) => n % 251)]);
    const turns: Turn[] = [];
    const { kernel } = await daemon("Nice picture.", turns);
    const { ts } = far.say(DIRECT, { user: ADA, text: "look at this", files: [{ name: "cat.png", data: png }] });
    await until(() => far.shown(DIRECT).some(({ words }) => words === "Nice picture."));
    const [media] = turns[0]?.messages[0].media ?? [];
    expect(Buffer.from(png).equals(await readFile(media?.path ?? ""))).toBe(true);
    await until(() =>
      far.world
        .room(DIRECT)!
        .posts.find((post) => post.ts === ts)!
        .reactions.has("eyes"),
    );
    const target = { channel: "teamchat", account: "main", chat: DIRECT };
    await kernel.tasks.deliver({ kind: "proactive", target, text: "One for you:", media: [{ kind: "image", name: "dog.png", data: png }] });
    await until(() => far.shown(DIRECT).some(({ files }) => files.length > 0));
    const sent = far.shown(DIRECT).at(-1)!.files[0]!;
    expect([sent.name, Buffer.from(sent.data).equals(Buffer.from(png))]).toEqual(["dog.png", true]);
    expect(far.strayTokens).toEqual([]);
  });

  it("K27 a question's button comes back as the decision, and the buttons go", async () => {
    const { kernel, events } = await daemon("never");
    const target = { channel: "teamchat", account: "main", chat: CHANNEL };
    const choices = [
      { id: "yes", label: "Yes" },
      { id: "no", label: "No" },
    ];
    const asked = await kernel.tasks.deliver({ kind: "notice", target, text: "Deploy **now**?", choices });
    await until(() => far.shown(CHANNEL).length === 1);
    const [post] = far.shown(CHANNEL);
    const [yes] = post!.blocks!.at(-1)!.elements as { value: string }[];
    far.press({ user: ADA, room: CHANNEL, ts: post!.ts, value: yes!.value, label: "Yes" });
    await until(() => far.sockets.pending() === 0);
    await kernel.tasks.closeChoices(asked.id, "Ada said yes.");
    await until(() => far.shown(CHANNEL)[0]?.blocks === undefined);
    expect(far.shown(CHANNEL)[0]?.words).toMatch(/Deploy \*now\*\?\s+Ada said yes\./);
    expect(events.filter(({ type }) => type === "channel-failed")).toEqual([]);
  });
});
