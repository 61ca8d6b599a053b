import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, createServer as listenRaw, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { createKeyRelays, type KeyRelays } from "./key-relays.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A vendor that tells which key it was asked with, at once or when `release` is called. */
async function vendor(): Promise<{ base: string; waiting: Promise<unknown>; release(): unknown }> {
  const held: ServerResponse[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    response.write(`${String(request.headers["x-api-key"])}\n`);
    if (request.url?.endsWith("/slow")) {
      held.push(response);
      server.emit("waiting");
    } else response.end("whole");
  });
  const waiting = once(server, "waiting");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, waiting, release: () => held.splice(0).map((each) => each.end("whole")) };
}

const relays = (): KeyRelays => {
  const made = createKeyRelays();
  closing.push(() => made.close());
  return made;
};
const paidBy = (base: string, key: string) => ({ base, paths: ["/v1"], headers: { "x-api-key": key }, without: ["x-api-key"] });
const ask = ({ port, token }: { port: number; token: string }, path: string) =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers: { "x-api-key": token } }).then(async (answer) => [answer.status, await answer.text()]);

describe("ENG-7 the relays of a key", () => {
  it("ENG-7 one relay serves a vendor and key, and puts the key in", async () => {
    const { base } = await vendor();
    const keys = relays();
    const [one, same] = [await keys.relayFor(paidBy(base, "first")), await keys.relayFor(paidBy(base, "first"))];
    expect(same).toBe(one);
    expect(await ask(one, "/v1/quick")).toEqual([200, "first\nwhole"]);
  });

  it("ENG-7 a vendor's status that HTTP does not have is an error of the vendor", async () => {
    const statuses = ["099", "000", "200"];
    const server = listenRaw((socket) => {
      socket.on("error", () => undefined).once("data", () => socket.end(`HTTP/1.1 ${statuses.shift()} Odd\r\ncontent-length: 4\r\n\r\nwell`));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => server.close());
    const relay = await relays().relayFor(paidBy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "first"));
    expect(await ask(relay, "/v1/quick")).toEqual([502, expect.stringContaining("the status 99, which HTTP does not have")]);
    expect(await ask(relay, "/v1/quick")).toEqual([502, expect.stringContaining("the status 0, which HTTP does not have")]);
    expect(await ask(relay, "/v1/quick")).toEqual([200, "well"]);
  });

  it("ENG-7 the relay of a changed key ends its exchanges and takes no more", async () => {
    const { base, waiting, release } = await vendor();
    const keys = relays();
    const former = await keys.relayFor(paidBy(base, "first"));
    const slow = ask(former, "/v1/slow");
    await waiting;
    const now = await keys.relayFor(paidBy(base, "second"));
    expect(now.port).not.toBe(former.port);
    expect(await ask(now, "/v1/quick")).toEqual([200, "second\nwhole"]);
    await expect(ask(former, "/v1/quick")).rejects.toThrow();
    release();
    expect(await slow).toEqual([200, "first\nwhole"]);
  });

  it("ENG-7 two vendors keep their relays beside each other until both are closed", async () => {
    const [left, right] = [await vendor(), await vendor()];
    const keys = relays();
    const [one, other] = [await keys.relayFor(paidBy(left.base, "first")), await keys.relayFor(paidBy(right.base, "second"))];
    expect(await ask(one, "/v1/quick")).toEqual([200, "first\nwhole"]);
    expect(await ask(other, "/v1/quick")).toEqual([200, "second\nwhole"]);
    await keys.close();
    for (const relay of [one, other]) await expect(ask(relay, "/v1/quick")).rejects.toThrow();
  });

  it.each(["CONNECT other:443", "GET /v1/quick"])("ENG-7 no program ends the daemon by a tunnel (%s) that it asks for and leaves", async (line) => {
    const { base } = await vendor();
    const [relay, daemon] = await inDaemon(base);
    for (let times = 0; times < 30; times += 1) {
      const tunnel = connect(relay.port, "127.0.0.1").on("error", () => {});
      await once(tunnel, "connect");
      tunnel.write(`${line} HTTP/1.1\r\nhost: other\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`, () => tunnel.resetAndDestroy());
      await once(tunnel, "close");
    }
    await sleep(50);
    expect(daemon.exitCode).toBe(null);
    expect(await ask(relay, "/v1/quick")).toEqual([200, "first\nwhole"]);
  });

  it("ENG-7 a tunnel that is asked for and held does not keep the relay open", async () => {
    const { base } = await vendor();
    const keys = createKeyRelays();
    const { port } = await keys.relayFor(paidBy(base, "first"));
    const held = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
    closing.push(() => held.destroy());
    held.write("CONNECT other:443 HTTP/1.1\r\nhost: other\r\n\r\n");
    const [answer] = await once(held, "data");
    expect(String(answer)).toMatch(/^HTTP\/1.1 403 /);
    await keys.close();
  });
});

describe("ENG-7 on the way through a proxy", () => {
  /** A proxy that has this to say to who asks for a tunnel, and leaves the connection open. */
  async function proxyThat(answer: string) {
    const sockets = new Set<Socket>();
    const server = listenRaw((socket) => {
      sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
      socket.once("data", () => {
        if (answer !== "") socket.write(answer);
        server.emit("asked");
      });
    });
    const asked = once(server, "asked");
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const relay = await relays().relayFor({
      ...paidBy("https://vendor.example", "first"),
      proxy: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
    return { relay, asked, sockets };
  }

  it("ENG-7 the vendor is reached through the proxy, and the tunnel ends with its exchange", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-relay-"));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=vendor.test"];
    execFileSync("openssl", [...how, "-addext", "subjectAltName=DNS:vendor.test", "-keyout", key, "-out", cert], { stdio: "ignore" });
    const ca = readFileSync(cert, "utf8");
    const far = createSecureServer({ key: readFileSync(key), cert: ca }, (request, response) => response.end(String(request.headers["x-api-key"])));
    far.listen(0, "127.0.0.1");
    await once(far, "listening");
    const wanted: string[] = [];
    let open = 0;
    const proxy = createServer().on("connect", (request, near: Socket) => {
      wanted.push(request.url ?? "");
      open += 1;
      const there = connect((far.address() as AddressInfo).port, "127.0.0.1", () => near.write("HTTP/1.1 200 OK\r\n\r\n"));
      there
        .on("error", () => {})
        .on("close", () => near.destroy())
        .pipe(near);
      near
        .on("error", () => {})
        .on("close", () => {
          open -= 1;
          there.destroy();
        });
      near.pipe(there);
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    closing.push(
      () => far.close().closeAllConnections(),
      () => proxy.close(),
    );
    const relay = await relays().relayFor({
      ...paidBy("https://vendor.test:8443", "first"),
      proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      ca,
    });
    expect([await ask(relay, "/v1/one"), await ask(relay, "/v1/two")]).toEqual([
      [200, "first"],
      [200, "first"],
    ]);
    expect(wanted).toEqual(["vendor.test:8443", "vendor.test:8443"]);
    await expect.poll(() => open).toBe(0);
  });

  it("ENG-7 a tunnel that the proxy refuses is not kept", async () => {
    const { relay, sockets } = await proxyThat("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
    expect(await ask(relay, "/v1/quick")).toEqual([502, expect.stringContaining("the proxy answered 407")]);
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("ENG-7 an engine that leaves while the proxy makes the tunnel leaves nothing behind", async () => {
    const { relay, asked, sockets } = await proxyThat("");
    const leaves = new AbortController();
    const answer = fetch(`http://127.0.0.1:${relay.port}/v1/quick`, { headers: { "x-api-key": relay.token }, signal: leaves.signal });
    await asked;
    leaves.abort();
    await expect(answer).rejects.toThrow();
    await expect.poll(() => sockets.size).toBe(0);
  });
});

/** A relay in a process of its own, which ends with any error that nobody takes. */
async function inDaemon(base: string) {
  const script = `
    import { createKeyRelays } from "@svc/sdk/engine";
    const { port, token } = await createKeyRelays().relayFor(${JSON.stringify(paidBy(base, "first"))});
    console.log(JSON.stringify({ port, token }));
    setInterval(() => {}, 60_000);`;
  const daemon = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
  closing.push(() => daemon.kill("SIGKILL"));
  const [line] = await once(createInterface(daemon.stdout), "line");
  return [JSON.parse(String(line)) as { port: number; token: string }, daemon] as const;
}
