import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcp, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import type { Envelope, Plugin } from "@svc/sdk";
import { afterEach, expect, it, vi } from "vitest";
import mesh from "../../plugins/features/mesh/index.ts";
import { baseOf, type Running, runKernel, temporaryFolder } from "../kit/kernel.ts";

const TOKEN = "the-token-that-all-nodes-hold";
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });
const wires: { close(): void }[] = [];
afterEach(() => {
  for (const wire of wires.splice(0)) wire.close();
});

/** A wire between two daemons that can be cut and closed. */
async function wire(target: () => string) {
  const open = new Set<Socket>();
  let closed = false;
  const server: Server = createTcp((near) => {
    if (closed) return void near.destroy();
    const { hostname, port } = new URL(target());
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.on("data", (data) => to.write(data));
      from.on("error", () => undefined);
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const it = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const socket of open) socket.destroy();
    },
    switch(on: boolean) {
      closed = !on;
      if (!on) it.cut();
    },
    close() {
      it.switch(false);
      server.close();
    },
  };
  wires.push(it);
  return it;
}

const startNode = (id: string, peers: Readonly<Record<string, string>>, options: object = {}, feed: object = {}) =>
  runKernel({
    inline: [mesh as unknown as Plugin<never>],
    listen: true,
    config: {
      node: { id, name: `Node ${id}`, bind: "127.0.0.1:0" },
      mesh: { enabled: true, feed, peers: Object.entries(peers).map(([name, url]) => ({ name, url, token: TOKEN })) },
    },
    ...options,
  });

async function announce(kernel: Kernel, text: string): Promise<string> {
  const answer = await fetch(`${baseOf(kernel)}/mesh/announce`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text }),
  });
  return ((await answer.json()) as { id: string }).id;
}

const announced = (events: readonly Envelope[]) => events.filter(({ kind }) => kind === "announce").map(({ summary }) => summary);
const feedEvents = (events: readonly Envelope[]) => events.filter(({ kind, type }) => kind === "mesh" && type.startsWith("feed:")).map(({ type }) => type);
const recent = async (kernel: Kernel, query = "") =>
  ((await (await fetch(`${baseOf(kernel)}/events/recent?limit=500${query}`)).json()) as { events: Envelope[] }).events;

it("MESH-01 in a ring of three each event is once on each, and origin=local never shows a foreign one", { timeout: 90_000 }, async () => {
  const bases: Record<string, string> = {};
  const links = Object.fromEntries(await Promise.all(["a", "b", "c"].map(async (id) => [id, await wire(() => bases[id] ?? "http://127.0.0.1:1")] as const)));
  const nodes: Running[] = [];
  for (const id of ["a", "b", "c"]) {
    const peers = Object.fromEntries(["a", "b", "c"].filter((other) => other !== id).map((other) => [other, (links[other] as { url: string }).url]));
    const node = await startNode(id, peers);
    bases[id] = baseOf(node.kernel);
    nodes.push(node);
  }
  // Each follows each: what is said now arrives everywhere, also while wires are cut.
  await until(async () => {
    for (const [n, { kernel }] of nodes.entries()) await announce(kernel, `probe ${n}`);
    for (const { events } of nodes) for (const n of [0, 1, 2]) expect(announced(events)).toContain(`probe ${n}`);
  });
  const said: string[] = [];
  for (let n = 0; n < 30; n += 1) {
    said.push(`event ${n}`);
    await announce((nodes[n % 3] as Running).kernel, `event ${n}`);
    if (n % 5 === 4) links[["a", "b", "c"][n % 3] as string]?.cut();
  }
  await until(() => {
    for (const { events } of nodes)
      expect(
        announced(events)
          .filter((text) => text.startsWith("event"))
          .sort(),
      ).toEqual([...said].sort());
  });
  for (const [n, { kernel }] of nodes.entries()) {
    const local = (await recent(kernel, "&origin=local")).filter(({ kind }) => kind === "announce");
    expect(new Set(local.map(({ node }) => node))).toEqual(new Set([["a", "b", "c"][n]]));
  }
});

it("MESH-02 one feed:down for an outage of many tries, one feed:up after it, and MESH-03 what was missed comes then", { timeout: 90_000 }, async () => {
  const far = await startNode("far", { x: "http://127.0.0.1:1" });
  const link = await wire(() => baseOf(far.kernel));
  const near = await startNode("near", { far: link.url });
  await until(async () => {
    await announce(far.kernel, "hello");
    expect(announced(near.events)).toContain("hello");
  });
  link.switch(false);
  await until(() => expect(feedEvents(near.events)).toEqual(["feed:down"]));
  for (let n = 0; n < 20; n += 1) await announce(far.kernel, `missed ${n}`);
  // Several tries go by.
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  expect(feedEvents(near.events)).toEqual(["feed:down"]);
  link.switch(true);
  await until(() => expect(announced(near.events).filter((text) => text.startsWith("missed"))).toEqual(Array.from({ length: 20 }, (_, n) => `missed ${n}`)));
  expect(feedEvents(near.events)).toEqual(["feed:down", "feed:up"]);
});

it("MESH-03 FAULT-42 more than a page that was missed comes whole and in order; what the buffer has dropped is one gap", { timeout: 90_000 }, async () => {
  const far = await startNode("far", { x: "http://127.0.0.1:1" });
  const link = await wire(() => baseOf(far.kernel));
  const near = await startNode("near", { far: link.url });
  await until(async () => {
    await announce(far.kernel, "hello");
    expect(announced(near.events)).toContain("hello");
  });
  const missed = (name: string) => announced(near.events).filter((text) => text.startsWith(name));
  for (const [name, count, gaps] of [
    ["short", 700, []],
    ["long", 1_300, ["feed:gap"]],
  ] as const) {
    link.switch(false);
    await until(() => expect(feedEvents(near.events).at(-1)).toBe("feed:down"));
    for (let n = 0; n < count; n += 1) far.kernel.bus.publish({ kind: "announce", type: "announce", summary: `${name} ${n}` });
    link.switch(true);
    await until(() => expect(feedEvents(near.events).at(-1)).toBe("feed:up"));
    const whole = Array.from({ length: count }, (_, n) => `${name} ${n}`);
    // The buffer holds a thousand events.
    expect(missed(name)).toEqual(gaps.length === 0 ? whole : whole.slice(-missed(name).length));
    expect(missed(name).length).toBeGreaterThanOrEqual(Math.min(count, 990));
    expect(feedEvents(near.events).filter((type) => type === "feed:gap")).toEqual(gaps);
  }
});

it("FAULT-42 MESH-03 an event that a peer sends again is taken once; a gap behind which nothing comes is told once", { timeout: 60_000 }, async () => {
  const far = await startNode("far", { x: "http://127.0.0.1:1" });
  await announce(far.kernel, "once");
  const event = (await recent(far.kernel)).find(({ kind }) => kind === "announce") as Envelope;
  let streams = 0;
  let asked = 0;
  const peer = createServer((request, response) => {
    if (request.url?.startsWith("/events?")) {
      streams += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let time = 0; time < 3; time += 1) response.write(`event: envelope\ndata: ${JSON.stringify(event)}\n\n`);
      // Broken, so that it is followed anew.
      return void setTimeout(() => response.destroy(), 700);
    }
    if (request.url?.startsWith("/events/recent")) asked += 1;
    const body = request.url?.startsWith("/events/recent") ? { events: [], gap: true, more: false } : { id: "far" };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => peer.listen(0, "127.0.0.1", resolve));
  wires.push({ close: () => void peer.close().closeAllConnections() });
  const near = await startNode("near", { far: `http://127.0.0.1:${(peer.address() as AddressInfo).port}` });
  await until(() => expect([streams >= 4, asked >= 3]).toEqual([true, true]));
  expect(announced(near.events)).toEqual(["once"]);
  expect(feedEvents(near.events).filter((type) => type === "feed:gap")).toHaveLength(1);
});

it("MESH-03 a peer that restarted, and has forgotten what was last, is one gap; first contact is none", { timeout: 90_000 }, async () => {
  let target = "";
  const link = await wire(() => target);
  const first = await startNode("far", { x: "http://127.0.0.1:1" });
  target = baseOf(first.kernel);
  await announce(first.kernel, "long before");
  const folder = await temporaryFolder();
  const options = { file: join(folder, "svc.json"), dataFolder: join(folder, ".svc") };
  const near = await startNode("near", { far: link.url }, options);
  await until(async () => {
    await announce(first.kernel, "hello");
    expect(announced(near.events)).toContain("hello");
  });
  expect([feedEvents(near.events), announced(near.events).includes("long before")]).toEqual([[], false]);
  await near.kernel.stop({ drainSeconds: 0 });
  await first.kernel.stop({ drainSeconds: 0 });
  const second = await startNode("far", { x: "http://127.0.0.1:1" });
  target = baseOf(second.kernel);
  const again = await startNode("near", { far: link.url }, options);
  await until(() => expect(feedEvents(again.events)).toContain("feed:gap"));
  await until(async () => {
    await announce(second.kernel, "after");
    expect(announced(again.events)).toContain("after");
  });
  expect(feedEvents(again.events).filter((type) => type === "feed:gap")).toHaveLength(1);
});

it("MESH-04 a peer without the feed is one line of the log and no outage; tasks to it still work", { timeout: 60_000 }, async () => {
  const asked: string[] = [];
  const old = createServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split("?")[0]}`);
    if (request.url?.startsWith("/events?")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write('event: status\ndata: {"state":"up"}\n\n');
    }
    if (request.method === "POST" && request.url === "/task")
      return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, reply: "from before" }));
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
  });
  await new Promise<void>((resolve) => old.listen(0, "127.0.0.1", resolve));
  wires.push({ close: () => void old.close().closeAllConnections() });
  const near = await startNode("near", { old: `http://127.0.0.1:${(old.address() as AddressInfo).port}` });
  await until(() => expect(asked).toContain("GET /events"));
  const body = JSON.stringify({ peer: "old", agent: "any", message: "x" });
  const answer = await fetch(`${baseOf(near.kernel)}/mesh/task`, { method: "POST", headers: { "content-type": "application/json" }, body });
  expect(await answer.json()).toMatchObject({ ok: true, reply: "from before" });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(asked.filter((line) => line === "GET /events")).toHaveLength(1);
  expect(feedEvents(near.events)).toEqual([]);
});

it("MESH-05 steps and what a machine says of itself do not cross, a foreign node's name is dropped, and tasks there are in no trace here", {
  timeout: 60_000,
}, async () => {
  const far = await startNode("far", { x: "http://127.0.0.1:1" });
  const near = await startNode("near", { far: baseOf(far.kernel) });
  await until(async () => {
    await announce(far.kernel, "hello");
    expect(announced(near.events)).toContain("hello");
  });
  const body = JSON.stringify({ agent: "a", message: "tool hammer" });
  await fetch(`${baseOf(far.kernel)}/task`, { method: "POST", headers: { "content-type": "application/json", accept: "application/json" }, body });
  await until(() => expect(near.events.some(({ type, node }) => type === "task:completed" && node === "far")).toBe(true));
  const foreign = near.events.filter(({ node }) => node === "far");
  expect(foreign.some(({ type }) => type === "task:step")).toBe(false);
  expect(foreign.some(({ kind }) => kind === "status")).toBe(false);
  expect(await near.kernel.traces.list({})).toEqual([]);
  const off = await startNode("off", { far: baseOf(far.kernel) }, {}, { enabled: false });
  await announce(far.kernel, "unheard");
  await until(() => expect(announced(near.events)).toContain("unheard"));
  expect(announced(off.events)).toEqual([]);
});
