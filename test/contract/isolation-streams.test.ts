import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveEntry } from "@svc/kernel";
import { isolate } from "@svc/kernel/isolation";
import type { Lifecycle, Sockets, StreamingFetch } from "@svc/sdk";
import { createFakeContext, type FakeContext, type FakeOptions } from "@svc/sdk/testing";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { WebSocketServer } from "ws";
import { action, type Laid, lay, runIsolated } from "../faults/isolation.harness.ts";

/*
 * Streams of bytes over the wire between the daemon and an isolated plugin.
 */
let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-streams-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** The plugin in a process of its own, with these capabilities at the daemon's side. */
async function apart(laid: Laid, fake: FakeOptions<never>, work: (act: (name: string) => Promise<unknown>) => Promise<void>): Promise<void> {
  lay(home, laid);
  const { plugin } = await isolate(resolveEntry(`process:${join(home, laid.name)}`, "/", []), { env: process.env, hidden: [] });
  const context: FakeContext<never> = createFakeContext<never>(plugin, fake);
  const lifecycle = ((await plugin.setup(context)) ?? {}) as Lifecycle<never>;
  await lifecycle.start?.();
  try {
    await work(async (name) => {
      const found = context.registered.actions.find((one) => one.name === name);
      return found?.run({}, { door: "cli", signal: new AbortController().signal } as never);
    });
  } finally {
    await lifecycle.stop?.();
    context.end();
  }
}

const PIECE = 65_536;
const PIECES = 1_000;

/** Answers 64 MB, and tells how much was taken and whether it was left. */
function endless() {
  const seen = { taken: 0, left: false };
  async function* body() {
    try {
      for (; seen.taken < PIECES; seen.taken += 1) yield new Uint8Array(PIECE).fill(seen.taken % 251);
    } finally {
      seen.left = true;
    }
  }
  const stream: StreamingFetch["stream"] = async (url, { signal } = {}) => {
    signal?.throwIfAborted();
    return { status: 200, statusText: "OK", headers: { a: "b" }, url, body: body() };
  };
  const whole = async (): Promise<never> => {
    throw new Error("nobody asks for the whole");
  };
  return { seen, fetch: Object.assign(whole, { stream }) };
}

it("AUT-A4 a body crosses the wire whole and in order", async () => {
  const { fetch } = endless();
  const setup = action(
    "down.load",
    `const { body, ...head } = await ctx.fetch.stream("https://example.org/", {});
     let total = 0, wrong = 0;
     for await (const piece of body) for (const byte of piece) { if (byte !== Math.floor(total / ${PIECE}) % 251) wrong += 1; total += 1; }
     return { head, total, wrong };`,
  );
  await apart({ name: "down", capabilities: ["fetch"], setup }, { fetch }, async (act) => {
    expect(await act("down.load")).toEqual({
      head: { status: 200, statusText: "OK", headers: { a: "b" }, url: "https://example.org/" },
      total: PIECE * PIECES,
      wrong: 0,
    });
  });
}, 60_000);

it("AUT-A4 a slow reader in the process holds the daemon back, and leaving ends the body there", async () => {
  const { seen, fetch } = endless();
  const setup = `let items;
    ${action("slow.one", `items ??= (await ctx.fetch.stream("https://example.org/")).body[Symbol.asyncIterator](); return (await items.next()).value.length;`)}
    ${action("slow.leave", "await items.return();")}`;
  await apart({ name: "slow", capabilities: ["fetch"], setup }, { fetch }, async (act) => {
    expect(await act("slow.one")).toBeGreaterThan(0);
    // All that the window of the wire takes has come by the time that a second question is answered.
    expect(await act("slow.one")).toBeGreaterThan(0);
    expect(seen.taken).toBeLessThan(PIECES / 10);
    await act("slow.leave");
    await vi.waitFor(() => expect(seen.left).toBe(true));
    expect(seen.taken).toBeLessThan(PIECES / 10);
  });
}, 60_000);

it("AUT-A4 the guard stands on the daemon's side: no origin of this machine can be named as trusted", async () => {
  const setup = action(
    "guard.try",
    `return ctx.fetch.stream("http://127.0.0.1:9/", { trustedOrigins: ["http://127.0.0.1:9"] }).then(() => "reached", (error) => error.code);`,
  );
  const { act, kernel } = await runIsolated([{ name: "guard", capabilities: ["fetch"], setup }]);
  try {
    expect(await act("guard.try")).toBe("SVC_FETCH_ISOLATED");
  } finally {
    await kernel.stop();
  }
}, 60_000);

/** In place of the daemon's guarded sockets: real ones, to one server. */
async function socketsTo(server: Server): Promise<{ sockets: Sockets; open: () => number; close: () => void }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const all = new Set<import("node:net").Socket>();
  const sockets: Sockets = {
    async connect({ signal }) {
      const socket = connect({ port, host: "127.0.0.1" });
      all.add(socket);
      socket.once("close", () => all.delete(socket));
      signal?.addEventListener("abort", () => socket.destroy());
      await new Promise((resolve) => socket.once("connect", resolve));
      return socket;
    },
    webSocket: () => Promise.reject(new Error("it is spoken in the process")),
  };
  return {
    sockets,
    open: () => all.size,
    close() {
      for (const socket of all) socket.destroy();
      server.close();
    },
  };
}

it("AUT-A4 a socket of an isolated plugin: large data both ways, many small writes, and an end on each side", async () => {
  let mode: "echo" | "count" = "echo";
  const far = await socketsTo(
    createServer({ allowHalfOpen: true }, (socket) => {
      if (mode === "echo") return void socket.pipe(socket);
      let total = 0;
      socket.on("data", (data) => {
        total += data.length;
      });
      socket.once("end", () => socket.end(String(total)));
    }),
  );
  const to = `{ host: "irc.example.org", port: 6697 }`;
  const setup = `
    ${action(
      "sock.echo",
      `const socket = await ctx.sockets.connect(${to});
       const sent = Buffer.alloc(20_000_000, "abcdefg");
       socket.write(sent);
       const got = []; let size = 0;
       for await (const piece of socket) { got.push(piece); size += piece.length; if (size >= sent.length) break; }
       return Buffer.concat(got).equals(sent);`,
    )}
    ${action(
      "sock.small",
      `const socket = await ctx.sockets.connect(${to});
       for (let at = 0; at < 50_000; at += 1) if (!socket.write("line\\r\\n".slice(0, 6))) await new Promise((done) => socket.once("drain", done));
       let text = "";
       socket.on("data", (piece) => { text += piece; });
       socket.end();
       await new Promise((done) => socket.once("close", done));
       return text;`,
    )}
    ${action("sock.left", `const socket = await ctx.sockets.connect(${to}); socket.destroy(); return true;`)}`;
  try {
    await apart({ name: "sock", capabilities: ["sockets"], setup }, { sockets: far.sockets }, async (act) => {
      expect(await act("sock.echo")).toBe(true);
      await vi.waitFor(() => expect(far.open()).toBe(0));
      expect(await act("sock.left")).toBe(true);
      await vi.waitFor(() => expect(far.open()).toBe(0));
      mode = "count";
      expect(await act("sock.small")).toBe("300000");
    });
  } finally {
    far.close();
  }
}, 60_000);

it("AUT-A4 a WebSocket of an isolated plugin is spoken in its process, over a connection of the daemon's", async () => {
  const http = createHttpServer();
  const server = new WebSocketServer({ server: http });
  server.on("connection", (socket) => socket.on("message", (data, binary) => socket.send(data, { binary })));
  const far = await socketsTo(http);
  const setup = action(
    "gate.talk",
    `const socket = await ctx.sockets.webSocket("ws://gateway.example.org/");
     await socket.send("hello"); await socket.send(new Uint8Array([1, 2]));
     const heard = [];
     for await (const message of socket.messages) { heard.push(typeof message === "string" ? message : [...message]); if (heard.length === 2) void socket.close(1000, "done"); }
     return { heard, closed: await socket.closed };`,
  );
  try {
    await apart({ name: "gate", capabilities: ["sockets"], setup }, { sockets: far.sockets }, async (act) => {
      expect(await act("gate.talk")).toEqual({ heard: ["hello", [1, 2]], closed: { code: 1000, reason: "done" } });
    });
  } finally {
    far.close();
  }
}, 60_000);

it("AUT-A4 the daemon holds an isolated plugin to the hosts of its manifest, and to none of this machine", async () => {
  const tries = (name: string) =>
    action(
      `${name}.try`,
      `const codes = [];
       for (const host of ["other.example.org", "127.0.0.1"]) codes.push(await ctx.sockets.connect({ host, port: 9, trustedHosts: ["127.0.0.1:9"] }).then(() => "reached", (error) => error.code));
       return codes;`,
    );
  const { act, kernel } = await runIsolated([
    { name: "named", capabilities: ["sockets"], manifest: { network: ["irc.example.org:6697"] }, setup: tries("named") },
    { name: "local", capabilities: ["sockets"], manifest: { network: ["127.0.0.1"] }, setup: tries("local") },
  ]);
  try {
    expect(await act("named.try")).toEqual(["SVC_SOCKET_HOST", "SVC_SOCKET_HOST"]);
    expect(await act("local.try")).toEqual(["SVC_SOCKET_HOST", "SVC_SOCKET_ISOLATED"]);
  } finally {
    await kernel.stop();
  }
}, 60_000);

it("AUT-A3 an isolated channel of a platform that gives no message ids", async () => {
  const setup = `ctx.provide.channel({ name: "bare", traits: { maxChars: 400, unit: "utf8", dialect: "plain", lines: "one" }, async send() { return {}; } });`;
  lay(home, { name: "bare", kind: "channel", setup });
  const { plugin } = await isolate(resolveEntry(`process:${join(home, "bare")}`, "/", []), { env: process.env, hidden: [] });
  const context: FakeContext<never> = createFakeContext<never>(plugin, {});
  const lifecycle = (await plugin.setup(context)) as Lifecycle<never>;
  try {
    const out = { target: { channel: "bare", chat: "c" }, text: "hello", plain: "hello", key: "k" };
    expect(await context.registered.channels[0]?.channel.send(out, new AbortController().signal)).toEqual({});
  } finally {
    await lifecycle.stop?.();
    context.end();
  }
}, 30_000);
