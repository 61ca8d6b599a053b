import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { definePlugin, type Envelope, type Peers, type Plugin } from "@svc/sdk";
import { afterEach, expect, it, vi } from "vitest";
import mesh from "../../plugins/features/mesh/index.ts";
import { foreignWire } from "../kit/foreign-wire.ts";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";

const TOKEN = "the-token-that-all-nodes-hold";
const NOWHERE = "http://127.0.0.1:1";
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A peer that is played. */
async function play(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handle);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json = (response: ServerResponse, body: unknown) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));

/** A daemon of the mesh, and the lines of its log from `warn` on, or from `level`. */
async function startNode(id: string, peers: readonly { name: string; url: string; token?: string }[], level = "warn", more: readonly Plugin<never>[] = []) {
  const log = join(await temporaryFolder(), "log");
  const running = await runKernel({
    inline: [mesh as unknown as Plugin<never>, ...more],
    listen: true,
    log: { destination: log, level },
    config: {
      node: { id, name: `Node ${id}`, bind: "127.0.0.1:0" },
      mesh: { enabled: true, peers: peers.map((peer) => ({ token: TOKEN, ...peer })), healthCheck: { interval: 3_600, timeout: 1 } },
    },
  });
  const lines = () =>
    readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { msg: string; peer?: string });
  return { ...running, lines };
}

const announce = (kernel: Kernel, text: string) => post(baseOf(kernel), "/mesh/announce", { text });
const announced = (events: readonly Envelope[]) => events.filter(({ kind }) => kind === "announce").map(({ summary }) => summary);
const feedOf = (events: readonly Envelope[], peer: string) =>
  events.filter(({ kind, data }) => kind === "mesh" && data?.["peer"] === peer).map(({ type }) => type);

it("FAULT-43 one peer down, one silent, one that knows another token: each is told as what it is, once, and the fourth is as quick as ever", {
  timeout: 120_000,
}, async () => {
  const good = await startNode("good", [{ name: "near", url: NOWHERE }]);
  const silent = await play(() => undefined);
  const near = await startNode("near", [
    { name: "down", url: NOWHERE },
    { name: "silent", url: silent },
    { name: "mistaken", url: await foreignWire(() => baseOf(good.kernel)), token: "another-token-than-theirs" },
    { name: "good", url: baseOf(good.kernel) },
  ]);
  await until(async () => {
    await announce(good.kernel, "hello");
    expect(announced(near.events)).toContain("hello");
  });
  const given = await post(baseOf(near.kernel), "/mesh/task", { peer: "good", agent: "a", message: "work" });
  expect(given.body).toMatchObject({ ok: true, reply: "work" });
  const states = await Promise.all(["down", "silent", "mistaken", "good"].map((peer) => post(baseOf(near.kernel), `/mesh/peers/${peer}/test`, {})));
  expect(states.map(({ body }) => body)).toMatchObject([
    { state: "down", reason: expect.stringContaining("ECONNREFUSED") },
    { state: "down" },
    { state: "refused", reason: expect.stringContaining("does not know the token of this daemon (401)") },
    { state: "up", agents: ["a"] },
  ]);
  // Several tries go by.
  await until(() =>
    expect([feedOf(near.events, "down"), feedOf(near.events, "mistaken")]).toEqual([
      ["added", "feed:down"],
      ["added", "feed:down"],
    ]),
  );
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  expect([feedOf(near.events, "down"), feedOf(near.events, "mistaken")]).toEqual([
    ["added", "feed:down"],
    ["added", "feed:down"],
  ]);
  const reason = near.events.find(({ type, data }) => type === "feed:down" && data?.["peer"] === "mistaken")?.data?.["reason"];
  expect(reason).toContain("does not know the token of this daemon (401)");
  expect(feedOf(near.events, "good").filter((type) => type.startsWith("feed:"))).toEqual([]);
  expect(near.lines().filter(({ msg }) => msg === "a peer is not reached").length).toBe(3);
});

it("FAULT-72 what a newer peer sends and this daemon does not know is passed over, with one line of the log for all that is no event", {
  timeout: 60_000,
}, async () => {
  const far = await startNode("far", [{ name: "x", url: NOWHERE }]);
  await announce(far.kernel, "as ever");
  const { events } = (await (await fetch(`${baseOf(far.kernel)}/events/recent?limit=500`)).json()) as { events: Envelope[] };
  const known = events.find(({ kind }) => kind === "announce") as Envelope;
  const frames = [
    "retry: 10\n\n",
    ...[1, 2, 3].flatMap((n) => [
      `event: hologram\ndata: ${n}\n\n`,
      `event: envelope\nfuture: 1\ndata: {"half": \n\n`,
      "event: envelope\ndata: null\n\n",
      `event: envelope\ndata: ${JSON.stringify({ ...known, id: `evt_0123456789_${n}`, type: 7 })}\n\n`,
      `event: envelope\ndata: ${JSON.stringify({ ...known, id: `evt_0123456789_a${n}`, kind: "hologram", type: "rendered", summary: `${n}`, future: { deep: [n] } })}\n\n`,
    ]),
    `event: envelope\ndata: ${JSON.stringify({ ...known, priority: "high", future: true })}\n\n`,
  ];
  const asked: Record<string, unknown>[] = [];
  const newer = await play((request, response) => {
    if (request.url?.startsWith("/mesh/node")) return void json(response, { id: "far", name: "Far", protocol: 9, features: ["hologram"] });
    if (request.url?.startsWith("/events?")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write(frames.join(""));
    }
    if (request.url?.startsWith("/mesh/task"))
      return void request
        .on("data", (data) => asked.push(JSON.parse(String(data))))
        .on("end", () => json(response, { ok: true, reply: "done", mood: "good", cost: { cents: 1 } }));
    json(response, { agents: [], future: 1 });
  });
  const near = await startNode("near", [{ name: "far", url: newer }]);
  await until(() => expect(announced(near.events)).toEqual(["as ever"]));
  expect(near.events.find(({ kind }) => kind === "announce")).toEqual(known);
  // A kind that nobody here knows is an event that nobody here hears.
  const holograms = near.events.filter(({ kind }) => kind === "hologram");
  expect(holograms.map(({ summary }) => summary)).toEqual(["1", "2", "3"]);
  expect(JSON.stringify(holograms)).not.toContain("future");
  expect((await post(baseOf(near.kernel), "/mesh/task", { peer: "far", agent: "any", message: "x" })).body).toMatchObject({ ok: true, reply: "done" });
  expect(asked).toHaveLength(1);
  expect(near.lines().filter(({ peer }) => peer === "far")).toMatchObject([{ msg: expect.stringContaining("others like it are dropped in silence") }]);
  expect(feedOf(near.events, "far").filter((type) => type.startsWith("feed:"))).toEqual([]);
  // And what a newer one asks of this daemon, with members that it does not know.
  const headers = { authorization: `Bearer ${TOKEN}`, "x-forwarded-for": "203.0.113.7", "x-svc-future": "1" };
  const task = { peer: "near", agent: "a", message: "from a newer one", hologram: { deep: true }, context: { mood: "good" } };
  expect((await post(baseOf(near.kernel), "/mesh/task", task, headers)).body).toMatchObject({ ok: true, reply: "from a newer one" });
  // From this machine it is a misspelling.
  expect(await post(baseOf(near.kernel), "/mesh/task", { peer: "far", agent: "a", mesage: "x", message: "x" })).toMatchObject({
    status: 400,
    body: { field: "mesage" },
  });
});

it("FAULT-72 MESH-04 a peer from before the feed is one line of the log, however long it stays so", { timeout: 60_000 }, async () => {
  let streams = 0;
  const older = await play((request, response) => {
    if (request.url?.startsWith("/events?")) {
      streams += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write('event: status\ndata: {"state":"up"}\n\n');
    }
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
  });
  const near = await startNode("near", [{ name: "older", url: older }], "info");
  await until(() => expect(near.lines().filter(({ peer }) => peer === "older")).toHaveLength(1));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(near.lines().filter(({ peer }) => peer === "older")).toMatchObject([{ msg: "a peer has no feed of events: it is asked again every 10 minutes" }]);
  expect(streams).toBe(1);
  expect(near.events.filter(({ kind, type }) => kind === "mesh" && type !== "added")).toEqual([]);
});

it("FAULT-72 a peer of an earlier version that refuses what it has not heard of gets the task without it, once", { timeout: 60_000 }, async () => {
  const known = new Set(["peer", "agent", "message", "freshSession"]);
  const bodies: Record<string, unknown>[] = [];
  const older = await play((request, response) => {
    if (request.url !== "/mesh/task") return void response.writeHead(404).end();
    let text = "";
    request.on("data", (data) => {
      text += data;
    });
    request.on("end", () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      bodies.push(body);
      const unknown = Object.keys(body).find((name) => !known.has(name));
      if (unknown === undefined) return json(response, { ok: true, reply: "done by the older one" });
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: `'${unknown}' is not a known field.`, code: "SVC_HTTP_INVALID", path: unknown, field: unknown }));
    });
  });
  let peers: Peers | undefined;
  const caller = definePlugin({
    kind: "feature",
    name: "caller",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["services"],
    setup: (ctx) => ({ start: async () => void (peers = ctx.services.get("peers")) }),
  });
  await startNode("near", [{ name: "older", url: older }], "warn", [caller as Plugin<never>]);
  const options = { chain: ["a"], freshSession: true };
  expect(await (peers as Peers).run("older", { agent: "any", message: "x", options })).toMatchObject({ ok: true, reply: "done by the older one" });
  expect(bodies.at(-1)).toEqual({ peer: "older", agent: "any", message: "x", freshSession: true });
  expect(bodies.length).toBeLessThanOrEqual(4);
});
