import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { FetchAnswer, GuardedFetch } from "@svc/sdk";
import { type ChannelFault, channelContract, checkSchema, createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

const TOPIC = "a-topic-nobody-guesses";
const TOKEN = "tk_secretsecretsecret";

interface Published {
  readonly id: string;
  readonly topic: string;
  readonly message: string;
  readonly title?: string;
  readonly priority?: number;
}

/** A strict topic server: JSON to the root, a bearer, limits as documented. */
async function startServer() {
  const published: Published[] = [];
  const faults: (ChannelFault | "date" | "redirect")[] = [];
  const sockets = new Set<Socket>();
  const state = { writes: 0, hanging: false, authorization: "", requests: [] as string[] };
  const server = createServer(async (request, response) => {
    const say = (status: number, body: object, headers: Record<string, string> = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    state.requests.push(`${request.method} ${request.url}`);
    if (request.url === "/v1/health") return say(200, { healthy: true });
    state.writes += 1;
    if (state.hanging) return;
    state.authorization = request.headers.authorization ?? "";
    let text = "";
    for await (const chunk of request) text += chunk;
    const fault = faults.shift();
    if (fault === "limited") return say(429, { code: 42901, http: 429, error: "limit reached: too many requests" }, { "retry-after": "7" });
    if (fault === "date") return say(429, { error: "later" }, { "retry-after": new Date(Date.now() + 60_000).toUTCString() });
    if (fault === "redirect") return response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    if (fault === "unavailable") return say(503, {});
    if (fault === "forbidden" || state.authorization !== `Bearer ${TOKEN}`) return say(403, { code: 40301, http: 403, error: "forbidden" });
    if (request.method !== "POST" || request.url !== "/") return say(404, { error: "page not found" });
    const body = JSON.parse(text) as Omit<Published, "id">;
    if (!/^[-_A-Za-z0-9]{1,64}$/.test(body.topic)) return say(400, { error: "invalid topic" });
    if (body.priority !== undefined && ![1, 2, 3, 4, 5].includes(body.priority)) return say(400, { error: "invalid priority" });
    const attachment = Buffer.byteLength(body.message) > 4_096;
    const message = { id: `id${published.length + 1}`, ...body, message: attachment ? "You received a file: attachment.txt" : body.message };
    published.push(message);
    if (fault === "cut") return request.socket.destroy();
    return say(200, { ...message, time: 1, event: "message" });
  });
  server.on("connection", (socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return { root: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, published, faults, state, close };
}

/** Real HTTP to origins that the caller trusts, following nothing. */
const trustedFetch: GuardedFetch = async (url, { method = "GET", headers = {}, body, signal, trustedOrigins = [] } = {}) => {
  if (!trustedOrigins.includes(new URL(url).origin)) throw new Error(`${url} is not public`);
  const answer = await fetch(url, {
    method,
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body: body as string }),
    ...(signal === undefined ? {} : { signal }),
  });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return {
    status: answer.status,
    statusText: answer.statusText,
    headers: Object.fromEntries(answer.headers),
    body: bytes,
    text: () => Buffer.from(bytes).toString(),
    truncated: false,
    url,
  } satisfies FetchAnswer;
};

async function stage(more: Record<string, unknown> = {}) {
  const server = await startServer();
  const context = createFakeContext(plugin as never, {
    config: { enabled: true, server: server.root, topic: TOPIC, token: TOKEN, defaultPriority: 3, ...more },
    fetch: trustedFetch,
  });
  return { server, context };
}

async function running(more?: Record<string, unknown>) {
  const { server, context } = await stage(more);
  const lifecycle = plugin.setup(context as never) ?? {};
  await lifecycle.start?.();
  const channel = context.registered.channels[0]!.channel;
  const send = (text: string, extras: object = {}) =>
    channel.send({ target: { channel: "topicpush", chat: "-" }, text, plain: text, key: "k", ...extras }, new AbortController().signal);
  return { server, context, channel, send };
}

channelContract(
  { describe, it },
  async () => {
    const { server, context } = await stage();
    return {
      plugin: plugin as never,
      context: context as never,
      far: {
        target: { channel: "topicpush", chat: "-" },
        retryAfterMs: 7_000,
        shown: () => server.published.map(({ id, message }) => ({ platformId: id, text: message })),
        fail: (fault, times) => void server.faults.push(...Array<ChannelFault>(times).fill(fault)),
        hang: () => void (server.state.hanging = true),
        writes: () => server.state.writes,
      },
      dispose: server.close,
    };
  },
  { lacks: ["receive", "markup"] },
);

describe("topicpush", () => {
  // The other half of the rule, `relayTo` (the send goes through that peer and no keys file is made here), is that of `push` alone.
  describe("CHAN-06 is send only", () => {
    it("CHAN-06 nothing comes in: no route, no hook, no task, no server, and edits are not offered", async () => {
      const { context, channel, server } = await running();
      // Without `tasks` it cannot hand anything over, and without `agents` not even see them.
      expect(plugin.capabilities).toEqual(["fetch"]);
      const { channels, ...rest } = context.registered;
      expect(channels).toHaveLength(1);
      expect(Object.entries(rest).filter(([, registered]) => registered.length > 0)).toEqual([]);
      expect([channel.edit, channel.fetchMedia, channel.traits.editIntervalMs]).toEqual([undefined, undefined, undefined]);
      await server.close();
    });

    it.each(["agentBinding", "defaultAgent", "accounts", "pollInbound", "allowFrom", "policy", "inbound"])(
      "CHAN-06 no agent is bound and nothing is heard: the setting %s is a mistake that is named",
      (key) => {
        const schema = plugin.config?.schema as NonNullable<NonNullable<typeof plugin.config>["schema"]>;
        const section = { enabled: true, topic: TOPIC };
        expect(checkSchema(schema, section)).toBeUndefined();
        expect(checkSchema(schema, { ...section, [key]: "echo" })).toContain(key);
      },
    );

    it("CHAN-06 asks the server for nothing but what it sends: no subscription, no poll", async () => {
      const { server, context, send } = await running();
      await send("one");
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(server.state.requests).toEqual(["POST /"]);
      context.end();
      await server.close();
    });
  });

  it("publishes topic, text, priority and title as JSON, with the token", async () => {
    const { server, send } = await running({ defaultTitle: "svc" });
    await send("backup done");
    await send("disk full", { title: "Alarm", priority: 5 });
    expect(server.published).toEqual([
      { id: "id1", topic: TOPIC, message: "backup done", title: "svc", priority: 3 },
      { id: "id2", topic: TOPIC, message: "disk full", title: "Alarm", priority: 5 },
    ]);
    expect(server.state.authorization).toBe(`Bearer ${TOKEN}`);
    await server.close();
  });

  it("understands a Retry-After that is a date", async () => {
    const { server, send } = await running();
    server.faults.push("date");
    const error = (await send("x").catch((caught) => caught)) as { failure: string; retryAfterMs: number };
    expect(error.failure).toBe("retry");
    expect(error.retryAfterMs).toBeGreaterThan(50_000);
    await server.close();
  });

  it("a server that is not there is told as retry", async () => {
    const { server, send } = await running();
    await server.close();
    await expect(send("x")).rejects.toMatchObject({ failure: "retry", message: expect.stringContaining("ECONNREFUSED") });
  });

  it("never takes the token along to where a redirect leads", async () => {
    const { server, send } = await running();
    server.faults.push("redirect");
    await expect(send("x")).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("302") });
    await server.close();
  });

  it("without a topic it is down and names the setting", async () => {
    const { server, context } = await running({ topic: undefined });
    expect(context.registered.channels[0]).toMatchObject({ state: "down", reason: "channels.topicpush.topic is not set" });
    await server.close();
  });

  it("says how the server is", async () => {
    const { server, channel } = await running();
    expect(await channel.test?.(new AbortController().signal)).toContain("healthy");
    await server.close();
  });
});
