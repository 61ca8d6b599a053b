import { createServer, get, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createBus } from "../core/bus/bus.ts";
import { createFanOut, type FanOutRequest } from "./event-fan-out.ts";

const makeBus = () =>
  createBus({
    node: "here",
    ringSize: 1000,
    onListenerError: (error) => {
      throw error;
    },
  });
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A stream that keeps what it is given; `waiting` is what its client has not taken. */
function memoryStream() {
  const stream = {
    chunks: [] as string[],
    ended: false,
    writableLength: 0,
    write: (chunk: string) => stream.chunks.push(chunk) > 0,
    end: () => void (stream.ended = true),
  };
  return stream;
}

/** Server-sent events of a text, as an EventSource reads them. */
const frames = (text: string) =>
  text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block) => {
      const [, name = "", data = ""] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
      return { name, data: JSON.parse(data) as Record<string, unknown> };
    });

function reading(request: FanOutRequest) {
  const bus = makeBus();
  const fanOut = createFanOut(bus);
  const stream = memoryStream();
  const stop = fanOut.add(stream, request);
  return { bus, fanOut, stream, stop, frames: () => frames(stream.chunks.join("")) };
}

describe("event streams", () => {
  it("EVT-07 a plain stream begins with a status at once and carries six kinds and the steps of agents", async () => {
    const { bus, stream, frames } = reading({ format: "plain" });
    expect(stream.chunks).toHaveLength(1);
    for (const kind of ["run", "task", "signal", "mesh", "channel", "status", "message", "announce", "reminder"]) bus.publish({ kind, type: "t", summary: "" });
    bus.publish({ kind: "agent", type: "task:started", summary: "", ref: "trace" });
    bus.publish({ kind: "agent", type: "task:step", summary: "read", ref: "trace", data: { kind: "forged", rootId: "forged", step: "read" } });
    await tick();
    expect(frames().map(({ name }) => name)).toEqual(["status", "run", "task", "signal", "mesh", "channel", "status", "task"]);
    for (const { data } of frames()) expect(data).toMatchObject({ node: "here", rootId: expect.stringMatching(/^evt_/) });
    expect(frames().at(-1)?.data).toMatchObject({ kind: "task:step", step: "read", ref: "trace", summary: "read" });
    expect(frames()[2]?.data).toMatchObject({ kind: "task", type: "t" });
  });

  it.each<[string, FanOutRequest & { format: "plain" }, string[]]>([
    ["type", { format: "plain", filter: { type: ["created", "task:step"] } }, ["r1", "s"]],
    ["the name of the frame as type", { format: "plain", filter: { type: ["task"] } }, ["u", "s"]],
    ["workflow", { format: "plain", filter: { workflow: "w" } }, ["r1", "u"]],
    ["run", { format: "plain", filter: { run: "run-1" } }, ["r1", "u"]],
    ["actor", { format: "plain", filter: { actor: "eve" } }, ["u"]],
    ["channel", { format: "plain", filter: { channel: "botmsg" } }, ["c"]],
    ["two at once", { format: "plain", filter: { workflow: "w", type: ["submitted"] } }, ["u"]],
  ])("EVT-07 filters plain streams by %s, the first status excepted", async (_name, request, expected) => {
    const { bus, frames } = reading(request);
    bus.publish({ kind: "run", type: "created", summary: "r1", ref: "run-1", data: { workflow: "w" } });
    bus.publish({ kind: "run", type: "ok", summary: "r2", ref: "run-2", data: { workflow: "v" } });
    bus.publish({ kind: "task", type: "submitted", summary: "u", ref: "user-task", data: { workflow: "w", run: "run-1", actor: "eve" } });
    bus.publish({ kind: "agent", type: "task:step", summary: "s" });
    bus.publish({ kind: "channel", type: "in", summary: "c", data: { channel: "botmsg" } });
    await tick();
    expect(frames().map(({ data }) => data["summary"])).toEqual(["connected", ...expected]);
  });

  it("EVT-08 an envelope stream carries every envelope as it is and nothing else", async () => {
    const { bus, stream, frames } = reading({ format: "envelope" });
    expect(stream.chunks).toEqual([]);
    const published = ["message", "agent", "announce"].map((kind) => bus.publish({ kind, type: "t", summary: "s", text: "a\nb" }));
    await tick();
    expect(frames()).toEqual(published.map((data) => ({ name: "envelope", data })));
  });

  it("EVT-08 filters envelope streams by family, type, origin and agent", async () => {
    const filter = { kind: ["agent"], skip: ["task:step"], origin: "local", agent: "ada" };
    const { bus, frames } = reading({ format: "envelope", filter });
    bus.publish({ kind: "agent", type: "task:started", summary: "yes", agentId: "ada" });
    bus.publish({ kind: "agent", type: "task:step", summary: "skipped", agentId: "ada" });
    bus.publish({ kind: "agent", type: "task:started", summary: "other agent", agentId: "bob" });
    bus.publish({ kind: "agent", type: "task:started", summary: "no agent" });
    bus.publish({ kind: "run", type: "ok", summary: "other kind", agentId: "ada" });
    bus.inject({ id: "x", rootId: "x", node: "there", kind: "agent", type: "task:started", at: "", summary: "other node", agentId: "ada" });
    await tick();
    expect(frames().map(({ data }) => data["summary"])).toEqual(["yes"]);
  });

  it("EVT-08 a comment goes out after 15 s of silence, and only then", () => {
    vi.useFakeTimers();
    try {
      const { bus, stream } = reading({ format: "envelope" });
      vi.advanceTimersByTime(14_000);
      bus.publish({ kind: "signal", type: "emitted", summary: "" });
      vi.advanceTimersByTime(14_990);
      expect(stream.chunks).toHaveLength(1);
      vi.advanceTimersByTime(20);
      expect(stream.chunks.slice(1)).toEqual([": idle\n\n"]);
      vi.advanceTimersByTime(15_000);
      expect(stream.chunks.slice(2)).toEqual([": idle\n\n"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("writes once a tick, whatever is published in it", async () => {
    const { bus, stream, frames } = reading({ format: "envelope" });
    for (let count = 0; count < 20; count += 1) bus.publish({ kind: "signal", type: "emitted", summary: "" });
    await tick();
    expect(stream.chunks).toHaveLength(1);
    expect(frames()).toHaveLength(20);
  });

  it("who joins hears what comes after, and who left hears nothing more", async () => {
    const { bus, fanOut, frames: early, stop } = reading({ format: "envelope" });
    bus.publish({ kind: "signal", type: "emitted", summary: "before" });
    const late = memoryStream();
    fanOut.add(late, { format: "envelope" });
    bus.publish({ kind: "signal", type: "emitted", summary: "after" });
    await tick();
    stop();
    stop();
    bus.publish({ kind: "signal", type: "emitted", summary: "later" });
    await tick();
    expect(early().map(({ data }) => data["summary"])).toEqual(["before", "after"]);
    expect(frames(late.chunks.join("")).map(({ data }) => data["summary"])).toEqual(["after", "later"]);
    expect(fanOut.size).toBe(1);
  });
});

describe("a slow client", () => {
  let server: Server | undefined;
  afterEach(
    () =>
      new Promise<void>((resolve) => {
        server?.closeAllConnections();
        server?.close(() => resolve());
      }),
  );

  it("FAULT-29 is told where to read on and dropped at 1 MB; others are unaffected", async () => {
    const bus = makeBus();
    const fanOut = createFanOut(bus);
    const dropped: string[] = [];
    server = createServer((request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      fanOut.add(response, { format: "envelope", filter: { agent: "ada" } }, () => dropped.push(request.url ?? ""));
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const open = (path: string) =>
      new Promise<IncomingMessage>((resolve) => get({ port, host: "127.0.0.1", path, headers: { accept: "text/event-stream" } }, resolve));
    const stalled = await open("/stalled");
    stalled.pause();
    const healthy = await open("/healthy");
    let heard = "";
    healthy.setEncoding("utf8").on("data", (chunk: string) => {
      heard += chunk;
    });
    let published = 0;
    while (dropped.length === 0 && published < 100_000) {
      bus.publish({ kind: "agent", type: "task:step", summary: "x".repeat(280), agentId: "ada", data: { published } });
      published += 1;
      if (published % 16 === 0) await tick();
    }
    expect(dropped).toEqual(["/stalled"]);
    expect(fanOut.size).toBe(1);
    const last = bus.publish({ kind: "agent", type: "task:completed", summary: "", agentId: "ada" });
    await vi.waitUntil(() => heard.includes(last.id), { timeout: 20_000 });
    expect(frames(heard)).toHaveLength(published + 1);

    let late = "";
    stalled.setEncoding("utf8").on("data", (chunk: string) => {
      late += chunk;
    });
    stalled.resume();
    await new Promise((resolve) => stalled.once("end", resolve));
    const read = frames(late);
    const { name, data } = read.at(-1) ?? {};
    expect(name).toBe("envelope");
    expect(data).toMatchObject({ kind: "status", data: { gap: true, since: read.at(-2)?.data["id"] } });
    expect(read.length).toBeLessThanOrEqual(published + 1);
  });
});
