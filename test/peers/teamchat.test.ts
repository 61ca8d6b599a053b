import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { channelError, type Lifecycle, type Outgoing } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createSockets } from "../../kernel/capabilities/fetch/sockets.ts";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import plugin from "../../plugins/channels/teamchat/index.ts";
import type { Settings } from "../../plugins/channels/teamchat/settings.ts";
import { startTeamchat, type Teamchat } from "../kit/teamchat/server.ts";

const require = createRequire(import.meta.url);
const at = (name: string) => join(import.meta.dirname, "node_modules", name);
const skippedBolt = !existsSync(at("@slack/bolt"));
const skippedEmulate = !existsSync(at("emulate"));
if (skippedBolt || skippedEmulate) console.warn("skipped: run `npm run test:peers` where the registry can be reached");

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

async function furnished(): Promise<Teamchat> {
  const far = await startTeamchat();
  closing.push(() => far.close());
  far.addWorkspace("T1", { name: "Acme" });
  far.addPerson("T1", "U1", "ada", "Ada Byron");
  far.addRoom("T1", "im", "D1", ["U1", "UBT1"]);
  far.addRoom("T1", "channel", "C1", ["U1", "UBT1"]);
  return far;
}

interface WebApi {
  readonly chat: { postMessage(args: object): Promise<{ ts: string }>; update(args: object): Promise<object> };
  readonly reactions: { add(args: object): Promise<object> };
  readonly conversations: { history(args: object): Promise<{ messages: object[] }> };
  chatStream(args: object): { append(args: object): Promise<void>; stop(): Promise<void> };
  filesUploadV2(args: object): Promise<object>;
}

interface Bolt {
  readonly client: WebApi;
  readonly receiver: { readonly client: { once(event: "connected", listener: () => void): void } };
  event(name: string, handler: (given: Record<string, never>) => Promise<void>): void;
  action(pattern: RegExp, handler: (given: Record<string, never>) => Promise<void>): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

describe.skipIf(skippedBolt)("the vendor's own clients on our far end: Bolt, its Web API and its socket mode", () => {
  async function bolt(far: Teamchat): Promise<Bolt> {
    const { App, LogLevel } = require(at("@slack/bolt"));
    const { botToken, appToken } = far.world.workspaces[0]!;
    const app = new App({ token: botToken, appToken, socketMode: true, logLevel: LogLevel.ERROR, clientOptions: { slackApiUrl: far.root } }) as Bolt;
    closing.push(() => app.stop());
    return app;
  }

  it("are told of messages and mentions, answer in threads, acknowledge, and connect again", async () => {
    const far = await furnished();
    const app = await bolt(far);
    const heard: string[] = [];
    app.event("message", async ({ event, say }: Record<string, never>) => {
      const { text, ts } = event as { text: string; ts: string };
      heard.push(text);
      await (say as (message: object) => Promise<void>)({ text: `said: ${text}`, thread_ts: ts });
    });
    app.event("app_mention", async ({ event }: Record<string, never>) => void heard.push(`mention ${(event as { user: string }).user}`));
    await app.start();
    far.say("C1", { user: "U1", text: "<@UBT1> hello" });
    await until(() => heard.length === 2);
    await until(() => far.shown("C1").length === 1 || far.violations.length > 0);
    expect(far.violations).toEqual([]);
    await until(() => far.sockets.pending() === 0);
    expect(heard.sort()).toEqual(["<@UBT1> hello", "mention U1"]);
    expect(far.shown("C1")).toMatchObject([{ words: "said: <@UBT1> hello" }]);
    // An attempt is not enough: the client's own promise of it is rejected with nothing, and unhandled, where it is stopped before the greeting.
    const again = new Promise<void>((resolve) => app.receiver.client.once("connected", resolve));
    far.sockets.disconnect("warning", 50);
    await again;
    expect(far.sockets.attempts()).toBe(2);
    expect([far.violations, far.sockets.problems]).toEqual([[], []]);
  });

  it("post, update, react, upload, stream and read history with arguments that it knows, and are told of pressed buttons", async () => {
    const far = await furnished();
    const app = await bolt(far);
    const pressed: string[] = [];
    app.action(/./, async ({ ack, action }: Record<string, never>) => {
      await (ack as () => Promise<void>)();
      pressed.push((action as { value: string }).value);
    });
    await app.start();
    const { client } = app;
    const button = { type: "button", action_id: "a", text: { type: "plain_text", text: "Yes" }, value: "yes" };
    const { ts } = await client.chat.postMessage({ channel: "C1", text: "hi", blocks: [{ type: "actions", elements: [button] }] });
    far.press({ user: "U1", room: "C1", ts, value: "yes" });
    await until(() => pressed.length === 1);
    await client.chat.update({ channel: "C1", ts, text: "done", blocks: [] });
    await client.reactions.add({ channel: "C1", timestamp: ts, name: "eyes" });
    const stream = client.chatStream({ channel: "D1", thread_ts: far.say("D1", { user: "U1", text: "go" }).ts });
    await stream.append({ markdown_text: "**grow" });
    await stream.append({ markdown_text: "ing**" });
    await stream.stop();
    const file = Buffer.from("some bytes");
    await client.filesUploadV2({ channel_id: "C1", file, filename: "a.txt" });
    const { messages } = await client.conversations.history({ channel: "C1", limit: 10, include_all_metadata: true });
    expect(messages).toHaveLength(2);
    expect(far.shown("D1")).toMatchObject([{ words: "**growing**" }]);
    expect(Buffer.from(far.shown("C1").at(-1)!.files[0]!.data)).toEqual(file);
    expect([far.violations, far.strayTokens.filter((one) => !one.startsWith("upload"))]).toEqual([[], []]);
  });

  it("are refused as by the platform: a token of the other kind, a lacking scope, too many calls", async () => {
    const { WebClient } = require(at("@slack/web-api"));
    const far = await furnished();
    const [workspace] = far.world.workspaces;
    const client = (token: string) =>
      new WebClient(token, { slackApiUrl: far.root, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, logLevel: "error" });
    await expect(client(workspace!.appToken).auth.test()).rejects.toMatchObject({ data: { error: "not_allowed_token_type" } });
    workspace!.scopes.delete("chat:write");
    await expect(client(workspace!.botToken).chat.postMessage({ channel: "C1", text: "x" })).rejects.toMatchObject({
      data: { error: "missing_scope", needed: "chat:write" },
    });
    far.fault = () => ({ status: 429, retryAfter: 3 });
    await expect(client(workspace!.botToken).chat.postMessage({ channel: "C1", text: "x" })).rejects.toMatchObject({ retryAfter: 3 });
  });
});

describe.skipIf(skippedEmulate)("teamchat on the Web API of emulate", () => {
  it("posts, edits, takes back, reacts and uploads there as on our far end", async () => {
    const { createEmulator } = (await import(join(at("emulate"), "dist/api.js"))) as {
      createEmulator(options: object): Promise<{ url: string; close(): Promise<void> }>;
    };
    const token = "xoxb-emulate";
    const seed = {
      slack: {
        team: { name: "Acme", domain: "acme" },
        users: [{ name: "ada", email: "ada@example.com" }],
        channels: [{ name: "general" }],
        bots: [{ name: "helper" }],
        tokens: [{ token, user: "ada" }],
      },
    };
    const emulator = await createEmulator({ service: "slack", port: 0, seed });
    closing.push(() => emulator.close());
    const root = `${emulator.url}/api/`;
    const end = new AbortController();
    const context = createFakeContext<Settings>(plugin as never, {
      config: { enabled: true, apiRoot: root, botToken: token, appToken: "xapp-emulate", agentBinding: "anna", allowFrom: ["U1"] },
      agents: [{ id: "anna" }],
      fetch: createFetch(),
      sockets: createSockets({ plugin: "channel-teamchat", signal: end.signal }),
      render: createRender(),
    });
    const lifecycle = plugin.setup(context) as Lifecycle<Settings>;
    closing.push(async () => {
      await lifecycle.stop?.();
      context.end();
      end.abort();
    });
    await lifecycle.start?.();
    const { channel } = context.registered.channels[0]!;
    const ask = async (method: string, args: Record<string, string>) => {
      const body = new URLSearchParams(args);
      const answer = await fetch(`${root}${method}`, { method: "POST", headers: { authorization: `Bearer ${token}` }, body });
      return (await answer.json()) as Record<string, never> & { ok: boolean };
    };
    const general = ((await ask("conversations.list", {})).channels as { id: string; name: string }[]).find(({ name }) => name === "general")!.id;
    const target = { channel: "teamchat", account: "main", chat: general };
    const out = (text: string, more: Partial<Outgoing> = {}): Outgoing => ({ target, text, plain: createRender().to("plain", text), key: text, ...more });
    const signal = new AbortController().signal;
    const history = async () =>
      ((await ask("conversations.history", { channel: general })).messages as { text: string; ts: string; reactions?: { name: string }[] }[]) ?? [];

    const { platformId = "" } = await channel.send(out("**bold** <&> `code`"), signal);
    expect((await history()).find(({ ts }) => ts === platformId)).toMatchObject({ text: "*bold* &lt;&amp;&gt; `code`" });
    await channel.edit?.(platformId, out("**other**"), signal);
    expect((await history()).find(({ ts }) => ts === platformId)).toMatchObject({ text: "*other*" });
    await channel.react?.(target, platformId, "👀", signal);
    expect((await history()).find(({ ts }) => ts === platformId)?.reactions).toMatchObject([{ name: "eyes" }]);
    const threaded = await channel.send(out("in the thread", { target: { ...target, thread: platformId } }), signal);
    const replies = (await ask("conversations.replies", { channel: general, ts: platformId })).messages as { ts: string }[];
    expect(replies.map(({ ts }) => ts)).toContain(threaded.platformId);
    const data = new TextEncoder().encode("the bytes");
    await channel.send(out("", { text: "", plain: "", key: "file", media: [{ kind: "file", name: "a.txt", data }] }), signal);
    expect((await ask("files.list", {})).files).toMatchObject([{ name: "a.txt", size: data.length }]);
    await channel.remove?.(target, platformId, signal);
    expect((await history()).some(({ ts }) => ts === platformId)).toBe(false);
    // What is not there is refused as our far end refuses it.
    await expect(channel.edit?.("1.000001", out("x"), signal)).rejects.toMatchObject({ failure: channelErrorOf("permanent") });
  });
});

const channelErrorOf = (failure: "permanent") => (channelError(failure, "") as { failure?: string }).failure;
