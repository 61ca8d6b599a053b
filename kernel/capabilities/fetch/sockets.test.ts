import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocketServer } from "ws";
import { createSockets, type SocketsOptions } from "./sockets.ts";
import { openWebSocket } from "./web-socket.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function serve(server: Server | HttpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
const listen = (handle: (socket: Socket) => void): Promise<number> => serve(createServer(handle));

function sockets(options: Partial<SocketsOptions> = {}) {
  const control = new AbortController();
  closers.push(() => control.abort());
  return Object.assign(createSockets({ plugin: "channel-irc", signal: control.signal, ...options }), { end: () => control.abort() });
}
const here = (port: number) => ({ host: "127.0.0.1", port, trustedHosts: [`127.0.0.1:${port}`] });

async function textOf(socket: Duplex): Promise<string> {
  let text = "";
  for await (const piece of socket) text += String(piece);
  return text;
}

describe("AUT-A4 a guarded socket", () => {
  it("AUT-A4 connects to a host that the operator wrote, in both directions", async () => {
    const port = await listen((socket) => socket.once("data", (data) => socket.end(`heard ${data}`)));
    const socket = await sockets().connect(here(port));
    socket.write("hello");
    expect(await textOf(socket)).toBe("heard hello");
  });

  it.each(["127.0.0.1", "localhost", "0x7f.1", "[::1]", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254"])("AUT-A4 refuses %s", async (host) => {
    const port = await listen((socket) => socket.end());
    await expect(sockets().connect({ host, port })).rejects.toMatchObject({ code: "SVC_SOCKET_BLOCKED" });
    await expect(sockets().connect({ host, port, trustedHosts: ["irc.example.org:6667", `${host}:1`] })).rejects.toMatchObject({
      code: "SVC_SOCKET_BLOCKED",
    });
    await expect(sockets().webSocket(`ws://${host.replace(/^(.*:.*:.*[^\]])$/, "[$1]")}:${port}`)).rejects.toMatchObject({ code: "SVC_SOCKET_BLOCKED" });
  });

  it("AUT-A4 connects to the very address that was checked, and takes none that is not public", async () => {
    const asked: string[] = [];
    const resolve = async (hostname: string) => {
      asked.push(hostname);
      return [{ address: "127.0.0.1", family: 4 }];
    };
    await expect(sockets({ resolve }).connect({ host: "irc.example.org", port: 6667 })).rejects.toMatchObject({ code: "SVC_SOCKET_BLOCKED" });
    expect(asked).toEqual(["irc.example.org"]);
  });

  it("AUT-A4 trusts nothing of this machine for a plugin in a process of its own", async () => {
    const port = await listen((socket) => socket.end());
    const walled = sockets({ isolated: true, section: { server: "localhost" } });
    await expect(walled.connect(here(port))).rejects.toMatchObject({ code: "SVC_SOCKET_ISOLATED" });
    await expect(walled.connect({ host: "localhost", port, trustedHosts: [`localhost:${port}`] })).rejects.toMatchObject({ code: "SVC_SOCKET_ISOLATED" });
    for (const host of ["0.0.0.7", "::", "::1", "::ffff:0:0", "::ffff:7f00:1", "::ffff:127.0.0.1", "0:0:0:0:0:FFFF:0:0"]) {
      const refused = walled.connect({ host, port, trustedHosts: [`${host.includes(":") ? `[${host}]` : host}:${port}`] });
      await expect(refused, host).rejects.toMatchObject({ code: "SVC_SOCKET_ISOLATED" });
    }
  });

  it("SEC-S4 trusts for such a plugin a host within the walls only where the operator has seen it: in its section, or in its manifest", async () => {
    // Not public, not of this machine, and no route leads there.
    const resolve = async () => [{ address: "::2", family: 6 }];
    const verdict = (how: Parameters<typeof sockets>[0]) =>
      sockets({ isolated: true, resolve, ...how })
        .connect({ host: "nas.home", port: 1, timeoutMs: 30, trustedHosts: ["nas.home:1"] })
        .catch(({ code }) => (code === "SVC_SOCKET_BLOCKED" ? "blocked" : "tried"));
    expect(await verdict({})).toBe("blocked");
    expect(await verdict({ hosts: ["configured", "*.home"], section: {} })).toBe("tried");
    expect(await verdict({ section: { storage: "http://nas.home:1/x" } })).toBe("tried");
    expect(await verdict({ section: { storage: "http://other.home" } })).toBe("blocked");
    expect(await verdict({ isolated: false })).toBe("tried");
  });

  it("AUT-A4 a signal, the plugin's end, a limit in time and a closed port are told apart", async () => {
    const port = await listen(() => undefined);
    const control = new AbortController();
    const mine = sockets();
    const one = await mine.connect({ ...here(port), signal: control.signal });
    const other = await mine.connect(here(port));
    control.abort();
    expect(one.destroyed).toBe(true);
    expect(other.destroyed).toBe(false);
    mine.end();
    expect(other.destroyed).toBe(true);
    await expect(mine.connect(here(port))).rejects.toMatchObject({ code: "SVC_SOCKET_ABORTED" });
    // A server that never shakes hands.
    await expect(sockets().connect({ ...here(port), tls: true, timeoutMs: 50 })).rejects.toMatchObject({ code: "SVC_SOCKET_TIMEOUT" });
    await expect(sockets().connect({ host: "127.0.0.1", port: 1, trustedHosts: ["127.0.0.1:1"] })).rejects.toMatchObject({
      code: "SVC_SOCKET_FAILED",
      message: expect.stringContaining("ECONNREFUSED"),
    });
    await expect(sockets().connect({ host: "", port: 70_000 })).rejects.toMatchObject({ code: "SVC_SOCKET_TARGET" });
  });

  it("AUT-A4 with tls a certificate that nobody vouches for is refused, and one that is named is taken", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-tls-"));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=irc.test"];
    execFileSync("openssl", [...how, "-addext", "subjectAltName=DNS:irc.test", "-keyout", key, "-out", cert], { stdio: "ignore" });
    const ca = readFileSync(cert, "utf8");
    const port = await serve(createTlsServer({ key: readFileSync(key), cert: ca }, (socket) => socket.end("secret")).on("tlsClientError", () => undefined));
    await expect(sockets().connect({ ...here(port), tls: true })).rejects.toMatchObject({ code: "SVC_SOCKET_FAILED" });
    await expect(sockets().connect({ ...here(port), tls: { servername: "other.test", ca } })).rejects.toMatchObject({ code: "SVC_SOCKET_FAILED" });
    expect(await textOf(await sockets().connect({ ...here(port), tls: { servername: "irc.test", ca } }))).toBe("secret");
  });
});

describe("AUT-A4 the hosts of a manifest", () => {
  const refusedBy = async (hosts: readonly string[], host: string, port: number, section?: unknown) => {
    const error = await sockets({ hosts, section, resolve: async () => [{ address: "127.0.0.1", family: 4 }] })
      .connect({ host, port })
      .catch((reason) => reason);
    return error.code === "SVC_SOCKET_HOST" ? "refused" : "passed";
  };

  it.each([
    [["irc.libera.chat:6697"], "irc.libera.chat", 6697, "passed"],
    [["irc.libera.chat:6697"], "IRC.libera.chat", 6697, "passed"],
    [["irc.libera.chat:6697"], "irc.libera.chat", 6667, "refused"],
    [["irc.libera.chat"], "irc.libera.chat", 6667, "passed"],
    [["*.example.org"], "a.b.example.org", 1, "passed"],
    [["*.example.org"], "example.org", 1, "refused"],
    [["*.example.org"], "evilexample.org", 1, "refused"],
    [["*"], "anything.example", 1, "passed"],
    [[], "anything.example", 1, "refused"],
    [["[2001:db8::1]:6697"], "2001:db8::1", 6697, "passed"],
  ])("AUT-A4 %j: %s:%d is %s", async (hosts, host, port, wanted) => {
    expect(await refusedBy(hosts, host, port)).toBe(wanted);
  });

  it.each([
    [{ server: "irc.home.example" }, "passed"],
    [{ servers: [{ at: "irc.home.example:6697" }] }, "passed"],
    [{ url: "wss://irc.home.example/socket" }, "passed"],
    [{ server: "irc.home.example:7000" }, "refused"],
    [{ note: "talk to irc.home.example please" }, "refused"],
    [{}, "refused"],
  ])("AUT-A4 'configured' with the section %j is %s", async (section, wanted) => {
    expect(await refusedBy(["configured"], "irc.home.example", 6697, section)).toBe(wanted);
  });
});

describe("AUT-A4 a guarded WebSocket", () => {
  async function far(handle: (socket: import("ws").WebSocket, request: import("node:http").IncomingMessage) => void, options = {}) {
    const server = createHttpServer((_, response) => response.writeHead(404).end());
    const sockets = new WebSocketServer({ server, ...options });
    sockets.on("connection", handle);
    const port = await serve(server);
    return { port, url: `ws://127.0.0.1:${port}/gateway?v=1`, init: { trustedOrigins: [`ws://127.0.0.1:${port}`] } };
  }

  it("AUT-A4 carries text and bytes both ways, with protocol and headers, and says how it ended", async () => {
    let seen: unknown;
    const { url, init } = await far(
      (socket, { headers, url: path }) => {
        seen = [headers.authorization, path];
        socket.on("message", (data, binary) => socket.send(data, { binary }));
      },
      { handleProtocols: () => "v2" },
    );
    const socket = await sockets().webSocket(url, { ...init, protocols: ["v1", "v2"], headers: { authorization: "Bot x" } });
    expect(seen).toEqual(["Bot x", "/gateway?v=1"]);
    expect(socket.protocol).toBe("v2");
    await socket.send("héllo");
    await socket.send(new Uint8Array([0, 255]));
    const heard: (string | Uint8Array)[] = [];
    for await (const message of socket.messages) {
      heard.push(message);
      if (heard.length === 2) void socket.close(1000, "done");
    }
    expect(heard).toEqual(["héllo", new Uint8Array([0, 255])]);
    expect(await socket.closed).toEqual({ code: 1000, reason: "done" });
  });

  it("AUT-A4 a refusal, a cut, a goodbye and a message that is too large are told apart", async () => {
    const plain = await serve(createHttpServer((_, response) => response.writeHead(401).end()));
    await expect(sockets().webSocket(`ws://127.0.0.1:${plain}`, { trustedOrigins: [`ws://127.0.0.1:${plain}`] })).rejects.toMatchObject({
      code: "SVC_WEBSOCKET_FAILED",
      message: expect.stringContaining("401"),
    });
    const { url, init } = await far((socket, { url: path }) => {
      if (path === "/cut") socket.terminate();
      else if (path === "/bye") socket.close(4004, "authentication failed");
      else socket.send("x".repeat(2_000));
    });
    const at = (path: string) => sockets().webSocket(new URL(path, url).href, { ...init, maxBytes: 1_000 });
    const endOf = async (path: string) => {
      const socket = await at(path);
      for await (const _ of socket.messages);
      return socket.closed;
    };
    expect(await endOf("/cut")).toMatchObject({ code: 1006 });
    expect(await endOf("/bye")).toEqual({ code: 4004, reason: "authentication failed" });
    expect(await endOf("/large")).toMatchObject({ code: 1006 });
    await expect(sockets().webSocket("http://example.org")).rejects.toMatchObject({ code: "SVC_WEBSOCKET_URL" });
    await expect(sockets().webSocket("wss://key:secret@example.org")).rejects.toMatchObject({ code: "SVC_WEBSOCKET_URL" });
  });

  it("AUT-A4 a connection that ends before it is agreed on is refused at once, and one that never agrees after its time", async () => {
    const port = await listen((socket) => socket.destroy());
    const ended = async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      await once(socket, "close");
      return socket;
    };
    const refusal = { code: "SVC_WEBSOCKET_FAILED", message: expect.stringContaining("hung up") };
    await expect(openWebSocket(ended, `ws://127.0.0.1:${port}`)).rejects.toMatchObject(refusal);
    await expect(sockets().webSocket(`ws://127.0.0.1:${port}`, { trustedOrigins: [`ws://127.0.0.1:${port}`] })).rejects.toMatchObject({
      code: expect.stringMatching(/^SVC_(?:WEBSOCKET|SOCKET)_FAILED$/),
    });
    // One sign of a header now and then keeps a connection busy for as long as it likes.
    const slow = await listen((socket) => {
      const dripping = setInterval(() => socket.write("X"), 20);
      socket.on("error", () => undefined).once("close", () => clearInterval(dripping));
    });
    await expect(sockets().webSocket(`ws://127.0.0.1:${slow}`, { trustedOrigins: [`ws://127.0.0.1:${slow}`], timeoutMs: 300 })).rejects.toMatchObject({
      code: "SVC_WEBSOCKET_FAILED",
    });
    const mute = await listen((socket) => void socket.on("error", () => undefined));
    await expect(sockets().webSocket(`ws://127.0.0.1:${mute}`, { trustedOrigins: [`ws://127.0.0.1:${mute}`], timeoutMs: 300 })).rejects.toMatchObject({
      code: "SVC_WEBSOCKET_FAILED",
      message: expect.stringContaining("300 ms"),
    });
  });

  it("AUT-A4 a header or protocol that cannot be sent is refused, and its connection is not left open", async () => {
    const ended = vi.fn();
    const port = await listen((socket) => socket.on("error", () => undefined).on("close", ended));
    const given = { trustedOrigins: [`ws://127.0.0.1:${port}`] };
    const open = (more: object) => sockets().webSocket(`ws://127.0.0.1:${port}`, { ...given, ...more });
    await expect(open({ headers: { authorization: "Bot x\n" } })).rejects.toMatchObject({ code: "ERR_INVALID_CHAR" });
    await expect(open({ protocols: ["a b"] })).rejects.toThrow("subprotocol");
    await vi.waitFor(() => expect(ended).toHaveBeenCalledTimes(2), 3_000);
  });

  it("AUT-A4 messages that are not read hold the far end back", async () => {
    let held: import("ws").WebSocket | undefined;
    const { url, init } = await far((socket) => {
      held = socket;
      for (let at = 0; at < 400; at += 1) socket.send(Buffer.alloc(500_000));
    });
    const socket = await sockets().webSocket(url, init);
    let read = 0;
    for await (const _ of socket.messages) {
      read += 1;
      if (read === 1) await vi.waitFor(() => expect(held?.bufferedAmount).toBeGreaterThan(50_000_000));
      if (read === 400) break;
    }
    expect(read).toBe(400);
  });

  it("AUT-A4 a far end that does not answer pings is given up", async () => {
    const { url, init } = await far(() => undefined, { autoPong: false });
    const socket = await sockets().webSocket(url, { ...init, pingMs: 30 });
    for await (const _ of socket.messages);
    expect(await socket.closed).toMatchObject({ code: 1006 });
  });
});
