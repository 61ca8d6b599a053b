import { existsSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Channel, Lifecycle, Outgoing, Store } from "@svc/sdk";
import { createFakeContext, createMemoryStore } from "@svc/sdk/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createSockets } from "../../kernel/capabilities/fetch/sockets.ts";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import plugin from "../../plugins/channels/teamchat/index.ts";
import type { Settings } from "../../plugins/channels/teamchat/settings.ts";
import { temporaryFolder } from "../kit/kernel.ts";

/*
 * @openclaw/crabline 0.1.27 speaks the Web API (auth.test, chat.postMessage, conversations.*) and tells of messages by HTTP: it has no
 * socket mode (dist/src/servers/slack.js knows no apps.connections.open), no edits, reactions, files or streams. Its events are the very
 * payloads of socket mode, so the relay below only puts each into an envelope and answers crabline when that is acknowledged; what it lacks is
 * judged on the servers of teamchat.test.ts.
 */

const PATIENCE = { timeout: 12_000, interval: 20 };
const entry = join(import.meta.dirname, "node_modules/@openclaw/crabline/dist/src/index.js");
const skipped = !existsSync(entry);
if (skipped) console.warn(`skipped: ${entry} is missing; run \`npm run test:peers\` where the registry can be reached`);

interface Server {
  readonly manifest: {
    readonly adminToken: string;
    readonly botToken: string;
    readonly endpoints: { readonly adminInboundUrl: string; readonly apiRoot: string };
  };
  close(): Promise<void>;
}
interface Recorded {
  readonly type: string;
  readonly path: string;
  readonly accepted?: boolean;
  readonly body?: Record<string, unknown>;
}

const closing: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
};

/** Socket mode in front of a server that tells of its events by HTTP, with everything else handed on as it is. */
async function startRelay() {
  const waiting = new Map<string, () => void>();
  const sockets = new Set<WebSocket>();
  const wss = new WebSocketServer({ noServer: true });
  const relay = { url: "", api: "", events: 0, acknowledged: 0, cut: false, connected: () => sockets.size };
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    if (request.url === "/events") {
      relay.events += 1;
      const envelope = `env-${relay.events}`;
      const done = new Promise<boolean>((resolve) => {
        waiting.set(envelope, () => resolve(true));
        setTimeout(() => resolve(false), 2_500).unref();
      });
      for (const socket of sockets) {
        socket.send(JSON.stringify({ envelope_id: envelope, type: "events_api", accepts_response_payload: false, payload: JSON.parse(body) }));
        break;
      }
      response.writeHead((await done) ? 200 : 503).end();
      return;
    }
    const method = request.url?.replace("/api/", "");
    response.setHeader("content-type", "application/json");
    if (method === "apps.connections.open") {
      response.end(JSON.stringify({ ok: true, url: `${relay.url.replace("http", "ws")}/link` }));
      return;
    }
    const { authorization = "", "content-type": type = "" } = request.headers;
    const answer = await fetch(`${relay.api}${method}`, { method: "POST", headers: { authorization, "content-type": type }, body });
    if (method === "chat.postMessage" && relay.cut) {
      relay.cut = false;
      request.socket.destroy();
      return;
    }
    const after = answer.headers.get("retry-after");
    response.writeHead(answer.status, after === null ? {} : { "retry-after": after });
    response.end(await answer.text());
  });
  server.on("upgrade", (request, socket, head) =>
    wss.handleUpgrade(request, socket, head, (client) => {
      sockets.add(client);
      client.on("close", () => sockets.delete(client));
      client.on("message", (data) => {
        relay.acknowledged += 1;
        waiting.get(JSON.parse(String(data)).envelope_id)?.();
      });
      client.send(JSON.stringify({ type: "hello", num_connections: 1 }));
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  relay.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closing.push(() => {
    for (const socket of sockets) socket.terminate();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return relay;
}

describe.skipIf(skipped)("teamchat on the server of @openclaw/crabline", () => {
  const recorded: Recorded[] = [];

  async function stage(limit?: { remaining: number; retryAfterSeconds: number }) {
    recorded.length = 0;
    const relay = await startRelay();
    const { startSlackServer } = (await import(entry)) as { startSlackServer(options: object): Promise<Server> };
    const server = await startSlackServer({
      recorderPath: join(await temporaryFolder(), "calls.jsonl"),
      eventsRequestUrl: `${relay.url}/events`,
      onEvent: (event: Recorded) => void recorded.push(event),
      ...(limit === undefined ? {} : { chatPostMessageRateLimit: limit }),
    });
    closing.push(() => server.close());
    relay.api = server.manifest.endpoints.apiRoot;
    const say = async (body: object): Promise<string> => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${server.manifest.adminToken}` };
      const token = { "x-crabline-admin-token": server.manifest.adminToken };
      const answer = await fetch(server.manifest.endpoints.adminInboundUrl, { method: "POST", headers: { ...headers, ...token }, body: JSON.stringify(body) });
      const said = (await answer.json()) as { ok: boolean; message: { ts: string } };
      expect(said.ok, JSON.stringify(said)).toBe(true);
      return said.message.ts;
    };
    return { relay, server, say };
  }

  async function run({ relay, server }: Awaited<ReturnType<typeof stage>>, store: Store = createMemoryStore()) {
    const ends = new AbortController();
    const context = createFakeContext<Settings>(plugin as never, {
      config: {
        enabled: true,
        apiRoot: `${relay.url}/api/`,
        botToken: server.manifest.botToken,
        appToken: "xapp-1-A1-x",
        agentBinding: "anna",
        allowFrom: ["U1ADA"],
      },
      agents: [{ id: "anna" }],
      fetch: createFetch(),
      sockets: createSockets({ plugin: "channel-teamchat", signal: ends.signal }),
      render: createRender(),
      store,
    });
    const lifecycle = plugin.setup(context) as Lifecycle<Settings>;
    let over = false;
    const stop = async () => {
      if (over) return;
      over = true;
      await lifecycle.stop?.();
      context.end();
      ends.abort();
    };
    closing.push(stop);
    await lifecycle.start?.();
    await vi.waitFor(() => expect(relay.connected()).toBe(1), PATIENCE);
    await vi.waitFor(() => expect(context.registered.channels[0]?.state).toBe("ready"), PATIENCE);
    return { context, channel: () => context.registered.channels[0]!.channel as Required<Channel>, stop };
  }
  const out = (chat: string, text: string, more: Partial<Outgoing> = {}): Outgoing => ({
    target: { channel: "teamchat", account: "main", chat },
    text,
    plain: createRender().to("plain", text),
    key: `${chat} ${text}`.slice(0, 40),
    ...more,
  });
  const signal = new AbortController().signal;

  it("takes a direct message, a mention and an answer in a thread, acknowledges each once it is kept, and drops strangers", async () => {
    const here = await stage();
    const { context } = await run(here);
    await here.say({ channel: "D1ADA", user: "U1ADA", text: "hello &amp; <https://example.org|welcome>" });
    const first = await here.say({ channel: "C1GARDEN", user: "U1ADA", text: "<@UCRABBOT> please" });
    await here.say({ channel: "C1GARDEN", user: "U1ADA", text: "<@UCRABBOT> and this", threadTs: first });
    await here.say({ channel: "C1GARDEN", user: "U2MALLORY", text: "<@UCRABBOT> me too" });
    await vi.waitFor(() => expect(here.relay.acknowledged).toBe(4), PATIENCE);
    const taken = (text: string) => context.tasks.accepted.find((message) => message.text === text);
    expect(context.tasks.accepted).toHaveLength(3);
    expect(taken("please")).toMatchObject({ chat: "C1GARDEN", thread: first, sender: { id: "U1ADA" } });
    expect(taken("and this")).toMatchObject({ chat: "C1GARDEN", thread: first });
    expect(context.tasks.accepted[0]).toMatchObject({ chat: "D1ADA", direct: true, text: expect.stringContaining("hello & ") });
    expect(context.events.published.map(({ type }) => type)).toEqual(["message:dropped"]);
  });

  it("sends words, markup, blocks with buttons, and answers in threads in the platform's own shapes", async () => {
    const here = await stage();
    const { channel } = await run(here);
    const ts = await here.say({ channel: "D1ADA", user: "U1ADA", text: "go" });
    await channel().send(out("D1ADA", "**bold** <&>"), signal);
    await channel().send(out("D1ADA", "Tea?\n\n```buttons\n[Yes] [No](https://example.org/)\n```"), signal);
    await channel().send(out("D1ADA", "in the thread", { target: { channel: "teamchat", account: "main", chat: "D1ADA", thread: ts } }), signal);
    const posts = recorded.filter(({ path }) => path === "/api/chat.postMessage");
    expect(posts.map(({ accepted, body }) => [accepted, body?.text])).toEqual([
      [true, "*bold* &lt;&amp;&gt;"],
      [true, "Tea?"],
      [true, "in the thread"],
    ]);
    expect(JSON.stringify(posts[1]?.body?.blocks)).toContain("actions");
    const answer = await fetch(`${here.relay.url}/api/conversations.replies`, {
      method: "POST",
      headers: { authorization: `Bearer ${here.server.manifest.botToken}`, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ channel: "D1ADA", ts }),
    });
    expect(((await answer.json()) as { messages: { text: string }[] }).messages.map(({ text }) => text)).toEqual(["go", "in the thread"]);
  });

  it("what was said while nobody listened is read from its history, and answered once", async () => {
    const here = await stage();
    const store = createMemoryStore();
    const before = await run(here, store);
    await here.say({ channel: "D1ADA", user: "U1ADA", text: "one" });
    await vi.waitFor(() => expect(before.context.tasks.accepted).toHaveLength(1), PATIENCE);
    await before.stop();
    for (const text of ["two", "three"]) await here.say({ channel: "D1ADA", user: "U1ADA", text });
    const { context } = await run(here, store);
    await vi.waitFor(() => expect(context.tasks.accepted.length).toBeGreaterThanOrEqual(2), PATIENCE);
    expect(context.tasks.accepted.map(({ text }) => text)).toEqual(["two", "three"]);
  });

  it("FAULT-03 a message whose answer was cut off is found in its history by the key, and not sent again", async () => {
    const here = await stage();
    const { channel } = await run(here);
    const replyTo = await here.say({ channel: "D1ADA", user: "U1ADA", text: "go" });
    const one = out("D1ADA", "once", { target: { channel: "teamchat", account: "main", chat: "D1ADA", replyTo } });
    here.relay.cut = true;
    await expect(channel().send(one, signal)).rejects.toMatchObject({ failure: "unknown" });
    const { platformId } = await channel().send(one, signal);
    expect(platformId).toMatch(/^\d+\.\d+$/);
    expect(recorded.filter(({ path }) => path === "/api/chat.postMessage")).toHaveLength(1);
  });

  it("is told to wait where the platform limits it", async () => {
    const here = await stage({ remaining: 1, retryAfterSeconds: 7 });
    const { channel } = await run(here);
    await channel().send(out("D1ADA", "one"), signal);
    await expect(channel().send(out("D1ADA", "two"), signal)).rejects.toMatchObject({ failure: "retry", retryAfterMs: 7_000 });
  });
});
