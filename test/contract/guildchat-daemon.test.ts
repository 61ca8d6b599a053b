import { readFile } from "node:fs/promises";
import { definePlugin, type Plugin, type Turn } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import guildchat from "../../plugins/channels/guildchat/index.ts";
import { type GuildFarEnd, startGuildFarEnd, tooMany } from "../kit/guildchat/server.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";

const PATIENCE = { timeout: 60_000, interval: 10 };
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

const open: GuildFarEnd[] = [];
afterEach(async () => {
  for (const far of open.splice(0)) await far.close();
});

/** A tier that says what it is given, piece by piece, and keeps its turns. */
function speaker(pieces: (turn: Turn) => AsyncIterable<string>) {
  const turns: Turn[] = [];
  const plugin = definePlugin({
    kind: "tier",
    name: "scripted",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: [],
    setup: (ctx) =>
      ctx.provide.tier({
        name: "scripted",
        async *run(turn) {
          turns.push(turn);
          for await (const text of pieces(turn)) yield { type: "text", text };
          yield { type: "done" };
        },
      }),
  });
  return { plugin: plugin as never, turns };
}

/** A kernel with the channel, connected to its far end. */
async function connected(pieces: (turn: Turn) => AsyncIterable<string>, section: object = {}) {
  const far = await startGuildFarEnd();
  open.push(far);
  const { place } = far.addGuild("The Garden");
  const tier = speaker(pieces);
  const { kernel, events } = await runKernel({
    tier: { ...tier, plugin: tier.plugin } as never,
    inline: [guildchat as unknown as Plugin<never>],
    config: { channels: { guildchat: { enabled: true, token: far.token, agentBinding: "a", apiRoot: far.root, allowFrom: [far.owner.id], ...section } } },
    dataFolder: await temporaryFolder(),
  });
  await vi.waitFor(() => expect(far.gateway.connected).toBe(1), PATIENCE);
  const ask = (text: string, files?: Parameters<GuildFarEnd["say"]>[0]["files"]) =>
    far.say({ place: place.id, from: far.owner.id, text: `<@${far.bot.id}> ${text}`, ...(files === undefined ? {} : { files }) });
  const answers = () => far.world.at(place.id).filter(({ author }) => author === far.bot.id);
  return { far, place, kernel, events, ask, answers, turns: tier.turns };
}

/** Thirty thousand characters with headings, lists, tables and blocks of code, and a number in each line of it. */
function longAnswer(): string {
  const parts: string[] = [];
  let n = 0;
  const mark = () => `n${n++}n`;
  while (parts.join("\n\n").length < 30_000) {
    parts.push(`## Heading ${mark()}`, `Words with *emphasis*, snake_case_names and ${mark()}: ${"all of it is kept. ".repeat(12)}${mark()}`);
    parts.push(
      ["| Key | Value |", "| --- | --- |", ...Array.from({ length: 12 }, () => `| ${mark()} | a | b |`.replace(" | a | b |", ` | cell ${mark()} |`))].join(
        "\n",
      ),
    );
    parts.push(["```ts", ...Array.from({ length: 70 }, () => `const x = "${mark()}"; // and a line that is not short`), "```"].join("\n"));
    parts.push(Array.from({ length: 6 }, () => `- item ${mark()}`).join("\n"));
  }
  return parts.join("\n\n");
}
const marksIn = (text: string) => [...text.matchAll(/n(\d+)n/g)].map(([, n]) => Number(n));

describe("a daemon on a guild", () => {
  it("CHAN-03 guildchat an answer of 30,000 characters with tables and code arrives whole, each message well formed", async () => {
    const answer = longAnswer();
    const one = await connected(async function* () {
      yield answer;
    });
    one.ask("tell me everything");
    const last = marksIn(answer).at(-1);
    await vi.waitFor(() => expect(marksIn(one.answers().at(-1)?.content ?? "").at(-1)).toBe(last), PATIENCE);
    const shown = one.answers().map(({ content }) => content);
    expect(answer.length).toBeGreaterThan(30_000);
    expect(shown.flatMap(marksIn)).toEqual(marksIn(answer));
    for (const content of shown) {
      expect(content.length).toBeLessThanOrEqual(2_000);
      // Each block of code that is open at the end of a message is closed there, and opened again in the next one.
      expect((content.match(/^```/gm) ?? []).length % 2, content).toBe(0);
    }
    expect(shown.filter((content) => content.startsWith("```ts")).length).toBeGreaterThan(5);
    expect(shown.join("\n")).not.toMatch(/^\| /m);
  });

  it("CHAN-03 guildchat an answer grows by edits of one message while it is made, and ends as the whole", async () => {
    const words = Array.from({ length: 60 }, (_, n) => `word${n} `);
    let shown: () => readonly string[] = () => [];
    const one = await connected(async function* () {
      // Until the first words are there people see that it types.
      await vi.waitFor(() => expect(one.far.typed.length).toBeGreaterThan(0), PATIENCE);
      yield words.slice(0, 20).join("");
      await vi.waitFor(() => expect(shown()).toHaveLength(1), PATIENCE);
      yield words.slice(20, 40).join("");
      await vi.waitFor(() => expect(shown()[0]).toContain("word3"), PATIENCE);
      yield words.slice(40).join("");
    });
    shown = () => one.answers().map(({ content }) => content);
    one.ask("slowly");
    await vi.waitFor(() => expect(shown()).toEqual([words.join("").trim()]), PATIENCE);
    const [message] = one.answers();
    expect(message?.before.length).toBeGreaterThan(0);
    // Of about sixty characters each: not one edit a word.
    expect(message?.before.length).toBeLessThan(words.length / 3);
    for (const before of message?.before ?? []) expect(words.join("").startsWith(before)).toBe(true);
  });

  it("a picture comes in and is there for the turn; one goes out with its bytes; the eye stands below what was taken", async () => {
    const one = await connected(async function* (turn) {
      yield `seen ${turn.messages.flatMap(({ media = [] }) => media).length}`;
    });
    const asked = one.ask("look", [{ name: "dot.png", type: "image/png", data: PNG }]);
    await vi.waitFor(() => expect(one.answers().map(({ content }) => content)).toEqual(["seen 1"]), PATIENCE);
    const [media] = one.turns[0]?.messages[0]?.media ?? [];
    expect(media).toMatchObject({ kind: "image", name: "dot.png" });
    expect(await readFile(media?.path ?? "")).toEqual(PNG);
    await vi.waitFor(() => expect(asked.reactions).toEqual(["👀"]), PATIENCE);
    const { sent } = await one.kernel.tasks.deliver({
      kind: "proactive",
      target: { channel: "guildchat", chat: one.place.id },
      text: "here",
      media: [{ kind: "image", name: "dot.png", type: "image/png", data: PNG }],
    });
    await sent;
    expect(one.answers().flatMap(({ files }) => files.map(({ name, type, data }) => [name, type, Buffer.from(data)]))).toEqual([["dot.png", "image/png", PNG]]);
  });

  it("K27 guildchat a question has buttons; a press decides it, and the buttons go", async () => {
    const one = await connected(async function* () {
      yield "x";
    });
    const { id, sent } = await one.kernel.tasks.deliver({
      kind: "notice",
      target: { channel: "guildchat", chat: one.place.id },
      text: "Deploy?",
      choices: [
        { id: "yes", label: "Yes" },
        { id: "no", label: "No" },
      ],
    });
    await sent;
    const [row] = one.answers()[0]!.components as { components: { custom_id: string }[] }[];
    const press = one.far.press({ message: one.answers()[0]!.id, data: row!.components[0]!.custom_id, from: one.far.owner.id });
    await vi.waitFor(() => expect(press.deferred || press.shown.length > 0).toBe(true), PATIENCE);
    await one.kernel.tasks.closeChoices(id, "Yes, by ada");
    await vi.waitFor(() => expect(one.answers()[0]).toMatchObject({ components: [], content: expect.stringContaining("Yes, by ada") }), PATIENCE);
  });

  it("in the history of the platform an answer stands once, though its sending broke off after the effect", async () => {
    const one = await connected(async function* (turn) {
      yield `answer to ${turn.messages[0]?.text}`;
    });
    let cuts = 0;
    one.far.fault = ({ method, path }) => {
      if (method !== "POST" || !path.endsWith("/messages") || cuts > 2) return undefined;
      cuts += 1;
      return cuts === 2 ? tooMany(0.2) : "cut";
    };
    one.ask("this");
    await vi.waitFor(() => expect(one.answers().map(({ content }) => content)).toEqual(["answer to this"]), PATIENCE);
    one.ask("that");
    await vi.waitFor(() => expect(one.answers().map(({ content }) => content)).toEqual(["answer to this", "answer to that"]), PATIENCE);
  });

  it("a channel that hears nobody says so in the list of channels", async () => {
    const one = await connected(
      async function* () {
        yield "x";
      },
      { allowFrom: [] },
    );
    await vi.waitFor(
      async () => expect(await one.kernel.channels()).toMatchObject([{ name: "guildchat", state: "ready", reason: expect.stringContaining("hears nobody") }]),
      PATIENCE,
    );
  });
});
