import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Channel, Lifecycle, Outgoing } from "@svc/sdk";
import { choiceData } from "@svc/sdk";
import { createFakeContext, createMemoryStore } from "@svc/sdk/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createSockets } from "../../kernel/capabilities/fetch/sockets.ts";
import plugin from "../../plugins/channels/guildchat/index.ts";
import type { Settings } from "../../plugins/channels/guildchat/settings.ts";
import { type GuildFarEnd, startGuildFarEnd } from "../kit/guildchat/server.ts";
import { temporaryFolder } from "../kit/kernel.ts";

const PATIENCE = { timeout: 12_000, interval: 20 };

/** A server that others wrote: a second opinion beside our own. */
interface Server {
  readonly manifest: {
    readonly adminToken: string;
    readonly botToken: string;
    readonly botUserId: string;
    readonly fixture: { readonly channelId: string; readonly guildId: string };
    readonly endpoints: { readonly adminInboundUrl: string; readonly apiRoot: string };
  };
  close(): Promise<void>;
}
interface Recorded {
  readonly type: string;
  readonly method: string;
  readonly path: string;
  readonly accepted?: boolean;
  readonly body?: Record<string, unknown>;
}

const entry = join(import.meta.dirname, "node_modules/@openclaw/crabline/dist/src/index.js");
const skipped = !existsSync(entry);
if (skipped) console.warn(`skipped: ${entry} is missing; run \`npm run test:peers\` where the registry can be reached`);

const ADA = "135000000000000700";

describe.skipIf(skipped)("guildchat on the server of @openclaw/crabline", () => {
  const recorded: Recorded[] = [];
  let server: Server;
  let lifecycle: Lifecycle<Settings>;
  let context: ReturnType<typeof createFakeContext<Settings>>;
  let ends: AbortController;

  beforeEach(async () => {
    recorded.length = 0;
    ends = new AbortController();
    const { startDiscordServer } = (await import(entry)) as { startDiscordServer(options: object): Promise<Server> };
    server = await startDiscordServer({
      botUsername: "helper",
      recorderPath: join(await temporaryFolder(), "calls.jsonl"),
      onEvent: (event: Recorded) => void recorded.push(event),
    });
    const apiRoot = server.manifest.endpoints.apiRoot;
    context = createFakeContext<Settings>(plugin as never, {
      config: { enabled: true, apiRoot, token: server.manifest.botToken, agentBinding: "anna", allowFrom: [ADA] },
      agents: [{ id: "anna" }],
      fetch: createFetch(),
      sockets: createSockets({ plugin: "channel-guildchat", signal: ends.signal }),
      store: createMemoryStore(),
    });
    lifecycle = plugin.setup(context) as Lifecycle<Settings>;
    await lifecycle.start?.();
    await vi.waitFor(() => expect(context.registered.channels[0]?.state).toBe("ready"), PATIENCE);
  });
  afterEach(async () => {
    await lifecycle.stop?.();
    ends.abort();
    await server.close();
  });

  const say = async (body: object) => {
    const { adminInboundUrl, adminToken } = server.manifest.endpoints as never as { adminInboundUrl: string; adminToken?: string };
    const answer = await fetch(adminInboundUrl, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${adminToken ?? server.manifest.adminToken}`,
        "x-crabline-admin-token": server.manifest.adminToken,
      },
      body: JSON.stringify(body),
    });
    expect(answer.status, await answer.text()).toBeLessThan(300);
  };
  const channel = () => context.registered.channels[0]!.channel as Required<Channel>;
  const place = () => ({ channel: "guildchat", chat: server.manifest.fixture.channelId });
  const out = (text: string, more: Partial<Outgoing> = {}): Outgoing => ({ target: place(), text, plain: text, key: text, ...more });
  const signal = new AbortController().signal;

  it("takes a mention in a guild, in a thread, and a direct message", async () => {
    const { fixture, botUserId } = server.manifest;
    await say({ channelId: fixture.channelId, guildId: fixture.guildId, senderId: ADA, content: `<@${botUserId}> please` });
    await say({
      channelId: "135000000000000777",
      parentChannelId: fixture.channelId,
      guildId: fixture.guildId,
      senderId: ADA,
      content: `<@${botUserId}> in the thread`,
    });
    const direct = await fetch(`${server.manifest.endpoints.apiRoot}/v10/users/@me/channels`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bot ${server.manifest.botToken}` },
      body: JSON.stringify({ recipient_id: ADA }),
    });
    const { id } = (await direct.json()) as { id: string };
    await say({ channelId: id, senderId: ADA, content: "hello" });
    await vi.waitFor(() => expect(context.tasks.accepted.map(({ text }) => text)).toHaveLength(3), PATIENCE);
    const taken = (text: string) => context.tasks.accepted.find((message) => message.text === text);
    expect(taken("please")).toMatchObject({ chat: fixture.channelId, sender: { id: ADA } });
    expect(taken("in the thread")).toMatchObject({ chat: fixture.channelId, thread: "135000000000000777" });
    expect(taken("hello")).toMatchObject({ chat: id, direct: true });
  });

  it("sends, edits, reacts, types, sends a file and takes back in the platform's own shapes: nothing is refused", async () => {
    const choices = [{ id: "yes", label: "Yes", data: choiceData("out_0b2a4a0e-6a0e-4c56-9f0e-0123456789ab", "yes") }];
    const { platformId = "" } = await channel().send(out("a **bold** word", { choices }), signal);
    await channel().edit(platformId, out("a **bolder** word"), signal);
    await channel().react(place(), platformId, "👀", signal);
    await channel().typing(place(), signal);
    await channel().send(out("", { key: "file", media: [{ kind: "file", name: "a.txt", data: Buffer.from("hello") }] }), signal);
    await channel().remove(place(), platformId, signal);
    await vi.waitFor(() => expect(recorded.filter(({ method, type }) => type === "api" && method === "DELETE")).toHaveLength(1), PATIENCE);
    const writes = recorded.filter(
      ({ type, method, path }) => type === "api" && method !== "GET" && path.includes("/channels/") && !path.includes("@me/channels"),
    );
    expect(writes.map(({ method, accepted }) => [method, accepted])).toEqual([
      ["POST", true],
      ["PATCH", true],
      ["PUT", true],
      ["POST", true],
      ["POST", true],
      ["DELETE", true],
    ]);
    expect(writes[0]?.body).toMatchObject({ content: "a **bold** word", allowed_mentions: { parse: [] }, enforce_nonce: true });
  });

  it("is told what is too long", async () => {
    await expect(channel().send(out("x".repeat(2_001)), signal)).rejects.toMatchObject({ failure: "format" });
    await channel().send(out("x".repeat(2_000)), signal);
  });
});

const python = "/usr/bin/python3";
const foreign = existsSync(python) && spawnSync(python, ["-c", "import discord"]).status === 0;
if (!foreign) console.warn("skipped: discord.py is missing; install it with: apt-get install python3-discord");

describe.skipIf(!foreign)("discord.py on our far end", () => {
  let far: GuildFarEnd;
  let client: ChildProcess;
  const lines: string[] = [];
  beforeEach(async () => {
    lines.length = 0;
    far = await startGuildFarEnd();
  });
  afterEach(async () => {
    client.kill("SIGKILL");
    await far.close();
  });

  it("connects, answers with a file read, reacts and edits, and resumes after a cut connection", async () => {
    const { place } = far.addGuild("The Garden");
    client = spawn(python, [join(import.meta.dirname, "guildchat-client.py"), far.root, far.token], { stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    client.stderr?.on("data", (chunk) => (errors += chunk));
    createInterface({ input: client.stdout! }).on("line", (line) => lines.push(line));
    await vi.waitFor(() => expect(lines, errors).toContain("ready helper ['The Garden']"), PATIENCE);
    const first = far.say({ place: place.id, from: far.owner.id, text: "one", files: [{ name: "a.bin", data: new Uint8Array(5) }] });
    await vi.waitFor(() => expect(lines, errors).toContain("answered one"), PATIENCE);
    far.gateway.cut();
    far.say({ place: place.id, from: far.owner.id, text: "two" });
    await vi.waitFor(() => expect(lines, errors).toContain("answered two"), PATIENCE);
    expect(far.gateway.counts).toMatchObject({ identifies: 1, resumes: 1 });
    const answers = far.world.at(place.id).filter(({ author }) => author === far.bot.id);
    expect(answers.map(({ content, replyTo }) => [content, replyTo === undefined])).toEqual([
      ["echo one [5] (edited)", false],
      ["echo two [] (edited)", false],
    ]);
    expect(first.reactions).toEqual(["👀"]);
    far.say({ place: place.id, from: far.owner.id, text: "end" });
    await vi.waitFor(() => expect(client.exitCode).toBe(0), PATIENCE);
  });
});
