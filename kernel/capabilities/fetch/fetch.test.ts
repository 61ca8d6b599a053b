import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import type { FetchInit, FetchStreamInit } from "@svc/sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createFetch } from "./fetch.ts";
import type { ResolvedAddress } from "./lookup.ts";
import { isPublicAddress } from "./public-address.ts";
import { nextHop } from "./redirect.ts";

const MEGABYTE = 1_048_576;
const canary = "canary-7d21";
let server: Server;
let origin: string;
let port: number;
let connections = 0;
let handle: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((request, response) => handle(request, response)).listen(0, "127.0.0.1");
  server.on("connection", () => (connections += 1));
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  origin = `http://127.0.0.1:${port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  server.closeAllConnections();
  connections = 0;
  handle = (_, response) => response.end("reached");
});

const fetch = createFetch();
const trusting = (path: string, init: FetchInit = {}) => fetch(origin + path, { trustedOrigins: [origin], ...init });
const named = (...addresses: readonly string[]) =>
  createFetch({ resolve: async () => addresses.map((address): ResolvedAddress => ({ address, family: address.includes(":") ? 6 : 4 })) });

describe("addresses", () => {
  it.each([
    "http://127.0.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://127.1:PORT/",
    "http://127.000.000.001:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://0x7f000001:PORT/",
    "http://2130706433:PORT/",
    "http://017700000001:PORT/",
    "http://0:PORT/",
    "http://0.0.0.0:PORT/",
    "http:127.0.0.1:PORT/",
    "http:\\\\127.0.0.1:PORT/",
    "http:///127.0.0.1:PORT/",
    " http://127.0.0\n.1:PORT/",
    "http://１２７.０.０.１:PORT/",
    "http://127。0。0。1:PORT/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "HTTP://LocalHost:PORT/",
    "http://[::]:PORT/",
    "http://[::1]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[0:0:0:0:0:ffff:7f00:1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[64:ff9b:1::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2001:0:7f00:1::]:PORT/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    "http://10.0.0.1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/machine",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.0.0.192/",
    "http://192.168.1.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "https://255.255.255.255/",
    "https://127.0.0.1:PORT/",
  ])("FAULT-52 refuses %j before it connects", async (address) => {
    await expect(fetch(address.replace("PORT", String(port)))).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(connections).toBe(0);
  });

  it.each(["file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/", "data:text/plain,x", "ws://example.com/", "javascript:1", "unix:/run/x.sock"])(
    "ACT-02 refuses the scheme of %s",
    async (address) => {
      await expect(fetch(address)).rejects.toMatchObject({ code: "SVC_FETCH_URL", message: expect.stringContaining("http") });
    },
  );

  it("refuses what is no URL and credentials in one, and repeats neither", async () => {
    for (const address of [`//${canary}`, `http://${canary}:99999999/`, "", `http://user:${canary}@example.com/`, `http://${canary}@127.0.0.1/`]) {
      const error = await fetch(address).catch((reason) => reason);
      expect(error).toMatchObject({ code: "SVC_FETCH_URL" });
      expect(error.message + JSON.stringify(error)).not.toContain(canary);
    }
  });

  it("FAULT-52 refuses a name that leads to a closed address", async () => {
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.1.2.3", "fe80::1%eth0", "nonsense"]) {
      await expect(named(address)(`http://metadata.google.internal:${port}/`)).rejects.toMatchObject({
        code: "SVC_FETCH_BLOCKED",
        message: expect.stringContaining("metadata.google.internal"),
      });
    }
    await expect(named("127.0.0.1")(`http://localhost.:${port}/`)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    await expect(named()("http://nothing.test/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(connections).toBe(0);
  });

  it("FAULT-52 asks for a rebinding name once a connection and uses nothing but that answer", async () => {
    const answers = ["127.0.0.1", "10.0.0.1", "127.0.0.1"];
    let asked = 0;
    const rebinding = createFetch({ resolve: async () => [{ address: answers[asked++] ?? "127.0.0.1", family: 4 }] });
    for (let request = 1; request <= 3; request++) {
      await expect(rebinding(`http://rebind.test:${port}/`)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
      expect(asked).toBe(request);
    }
    expect(connections).toBe(0);
  });

  it("does not find the kept connection of a trusted request with a guarded one", async () => {
    const both = named("127.0.0.1");
    const address = `http://bot.test:${port}`;
    expect((await both(`${address}/`, { trustedOrigins: [address] })).text()).toBe("reached");
    await expect(both(`${address}/`)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(connections).toBe(1);
  });

  it("exempts exactly the trusted origin: not another port, scheme or name of the same machine", async () => {
    expect((await trusting("/")).text()).toBe("reached");
    for (const trusted of [`http://127.0.0.1:${port + 1}`, `https://127.0.0.1:${port}`, `http://localhost:${port}`, "http://127.0.0.1", "127.0.0.1", "*", ""]) {
      await expect(fetch(`${origin}/`, { trustedOrigins: [trusted] })).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    }
    await expect(fetch(`http://localhost:${port}/`, { trustedOrigins: [origin] })).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
  });

  it("knows public addresses", () => {
    for (const address of ["8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.0", "2606:4700:4700::1111", "2a00:1450::1"]) {
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
    }
    for (const address of ["example.com", "", "8.8.8", "[2606:4700::1]"]) expect([address, isPublicAddress(address)]).toEqual([address, false]);
  });
});

describe("redirects", () => {
  const redirect = (status: number, location: string) => {
    handle = (request, response) => {
      if (request.url === "/end") return response.end(`${request.method} ${request.headers["x-key"] ?? ""}`);
      response.writeHead(status, { location }).end("moved");
    };
  };

  it.each([
    "http://127.0.0.1:1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://localhost:PORT/end",
    "//[::1]:PORT/end",
    "http://[::ffff:7f00:1]:PORT/end",
  ])("ACT-02 FAULT-52 refuses a redirect to %s", async (location) => {
    redirect(302, location.replace("PORT", String(port)));
    await expect(trusting("/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(connections).toBe(1);
  });

  it.each(["file:///etc/passwd", "gopher://example.com/", "http://", `http://user:${canary}@example.com/`])(
    "ACT-02 refuses a redirect to %s",
    async (location) => {
      redirect(302, location);
      const error = await trusting("/").catch((reason) => reason);
      expect(error).toMatchObject({ code: "SVC_FETCH_URL" });
      expect(error.message).not.toContain(canary);
    },
  );

  it("does not let a redirect carry trust from one trusted origin to another", async () => {
    const second = createServer((_, response) => response.end("reached")).listen(0, "127.0.0.1");
    await once(second, "listening");
    const other = `http://127.0.0.1:${(second.address() as AddressInfo).port}`;
    redirect(307, `${other}/`);
    await expect(trusting("/", { trustedOrigins: [origin, other] })).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    second.close();
  });

  it("ACT-02 follows within an origin and tells the final address, without fragment", async () => {
    redirect(301, "/end#part");
    expect(await trusting("/", { headers: { "X-Key": "k" } })).toMatchObject({ status: 200, url: `${origin}/end` });
    expect((await trusting("/", { headers: { "X-Key": "k" } })).text()).toBe("GET k");
  });

  it("hands a redirect over where the caller follows by hand, and asks nothing there", async () => {
    redirect(307, "http://127.0.0.1:1/elsewhere");
    const answer = await trusting("/", { method: "PUT", body: "words", redirect: "manual" });
    expect([answer.status, answer.headers.location, answer.url]).toEqual([307, "http://127.0.0.1:1/elsewhere", `${origin}/`]);
    expect(connections).toBe(1);
  });

  it("follows five by default and no more", async () => {
    handle = (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end("there");
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    };
    expect((await trusting("/5")).text()).toBe("there");
    await expect(trusting("/6")).rejects.toMatchObject({ code: "SVC_FETCH_REDIRECT", message: expect.stringContaining("5") });
    await expect(trusting("/1", { maxRedirects: 0 })).rejects.toMatchObject({ code: "SVC_FETCH_REDIRECT" });
  });

  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "POST", "POST"],
  ])("after %i a %s goes on as %s, with its body only where the method stays", (status, method, expected) => {
    const url = new URL("https://a.test/");
    const hop = { url, method, headers: { "content-type": "text/plain", "content-length": "1", authorization: canary }, body: "x" };
    const next = nextHop(hop, status, new URL("https://a.test/next"));
    const kept = method === expected;
    expect(next).toMatchObject({ method: expected, body: kept ? "x" : undefined });
    expect(Object.keys(next.headers)).toEqual(kept ? ["content-type", "content-length", "authorization"] : ["authorization"]);
  });

  it.each(["https://b.test/", "http://a.test/", "https://a.test:8443/"])("lets no key cross to %s, under whatever name", (target) => {
    const headers = {
      accept: "*/*",
      authorization: canary,
      cookie: canary,
      "proxy-authorization": canary,
      "private-token": canary,
      "x-api-key": canary,
      "x-anything": canary,
    };
    expect(nextHop({ url: new URL("https://a.test/"), method: "GET", headers, body: undefined }, 302, new URL(target)).headers).toEqual({ accept: "*/*" });
  });
});

describe("requests", () => {
  it("ACT-02 gives back a 404 as an answer, with everything in it", async () => {
    handle = (request, response) => {
      response.writeHead(404, "Nope", { "X-Seen": "1", "set-cookie": ["a=1", "b=2"] }).end(`gone: ${request.url}`);
    };
    const answer = await trusting("/x?q=1#f");
    expect(answer).toMatchObject({
      status: 404,
      statusText: "Nope",
      truncated: false,
      url: `${origin}/x?q=1`,
      headers: { "x-seen": "1", "set-cookie": "a=1, b=2" },
    });
    expect(answer.text()).toBe("gone: /x?q=1");
  });

  it("sends method, headers and body, and keeps to itself what the connection sets", async () => {
    handle = async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      response.end(JSON.stringify({ method: request.method, headers: request.headers, body }));
    };
    const seen = JSON.parse(
      (
        await trusting("/", {
          method: "delete",
          body: "é",
          headers: { Host: "evil.test", "Content-Length": "1", "Transfer-Encoding": "chunked", "X-A": "1", "Proxy-Connection": "x" },
        })
      ).text(),
    );
    expect(seen).toMatchObject({
      method: "DELETE",
      body: "é",
      headers: { host: `127.0.0.1:${port}`, "content-length": "2", "x-a": "1", "content-type": "text/plain;charset=UTF-8" },
    });
    expect(Object.keys(seen.headers).sort()).toEqual([
      "accept",
      "accept-encoding",
      "connection",
      "content-length",
      "content-type",
      "host",
      "user-agent",
      "x-a",
    ]);
    const bytes = JSON.parse(
      (await trusting("/", { method: "POST", body: new Uint8Array([104, 105]), headers: { "content-type": "application/json" } })).text(),
    );
    expect(bytes).toMatchObject({ body: "hi", headers: { "content-type": "application/json", "content-length": "2" } });
  });

  it("refuses what cannot be sent as it is", async () => {
    for (const init of [
      { method: "CONNECT" },
      { method: "trace" },
      { method: "A B" },
      { body: "x" },
      { headers: { "x-a": `a\r\nx-b: ${canary}` } },
      { headers: { "a b": "1" } },
      { headers: { "x-a": `\u{1f600}${canary}` } },
    ]) {
      const error = await trusting("/", init).catch((reason) => reason);
      expect(error).toMatchObject({ code: "SVC_FETCH_REQUEST" });
      expect(error.message + JSON.stringify(error)).not.toContain(canary);
    }
    expect(connections).toBe(0);
  });

  it("uses no proxy of the environment", async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      http_proxy: "http://127.0.0.1:9",
      HTTP_PROXY: "http://127.0.0.1:9",
      ALL_PROXY: "http://127.0.0.1:9",
      NODE_USE_ENV_PROXY: "1",
    });
    try {
      expect((await createFetch()(`${origin}/`, { trustedOrigins: [origin] })).text()).toBe("reached");
    } finally {
      process.env = before;
    }
  });

  it("keeps a connection for the next request, and opens a new one when it was closed meanwhile", async () => {
    await trusting("/");
    await trusting("/");
    expect(connections).toBe(1);
    server.closeIdleConnections();
    expect((await trusting("/")).text()).toBe("reached");
    expect(connections).toBe(2);
  });

  it("FAULT-59 names the host of a failed request and nothing that may be a key", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port: free } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    const failing = (address: string, init: FetchInit = {}) =>
      fetch(address, { trustedOrigins: [new URL(address).origin], headers: { authorization: canary }, ...init });
    handle = (request, response) => (request.url?.includes("hang") ? undefined : response.destroy());
    const errors = await Promise.all(
      [
        failing(`http://127.0.0.1:${free}/bot${canary}/x?token=${canary}`),
        failing(`${origin}/cut?token=${canary}`),
        failing(`${origin}/hang?token=${canary}`, { timeoutMs: 50 }),
        fetch(`${origin}/?token=${canary}`),
        createFetch({ resolve: () => Promise.reject(Object.assign(new Error(canary), { code: "ENOTFOUND" })) })(`http://x.test/?token=${canary}`),
      ].map((work) => work.catch((reason) => reason)),
    );
    expect(errors.map((error) => error.code)).toEqual(["SVC_FETCH_FAILED", "SVC_FETCH_FAILED", "SVC_FETCH_TIMEOUT", "SVC_FETCH_BLOCKED", "SVC_FETCH_FAILED"]);
    expect(errors[0].message).toContain("ECONNREFUSED");
    for (const error of errors) expect(`${error.stack}${JSON.stringify(error)}${error.cause}`).not.toContain(canary);
  });

  it("ends when its caller gives up: before, while waiting, and within the body", async () => {
    handle = (request, response) => {
      if (request.url === "/body") response.write("part");
    };
    await expect(trusting("/", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "SVC_FETCH_ABORTED" });
    expect(connections).toBe(0);
    for (const path of ["/wait", "/body"]) {
      const controller = new AbortController();
      const request = once(server, "request");
      const answer = trusting(path, { signal: controller.signal });
      answer.catch(() => undefined);
      const [{ socket }] = await request;
      await sleep(20);
      controller.abort();
      await expect(answer).rejects.toMatchObject({ code: "SVC_FETCH_ABORTED" });
      if (!socket.destroyed) await once(socket, "close");
    }
  });

  it("removes its listener from a signal that outlives it", async () => {
    const { signal } = new AbortController();
    const counts = { added: 0, removed: 0 };
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      counts.added += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      counts.removed += 1;
      remove(...args);
    };
    await trusting("/", { signal });
    expect(counts).toEqual({ added: 1, removed: 1 });
  });
});

describe("bodies", () => {
  /** Writes for as long as somebody reads. */
  function pour(response: ServerResponse, block: Buffer): Promise<unknown> {
    const more = () => {
      while (!response.destroyed && response.write(block));
    };
    response.on("drain", more);
    more();
    return once(response, "close");
  }

  it("ACT-01 FAULT-53 returns from an endless response with 1 MB, and stops reading", async () => {
    let closed: Promise<unknown> | undefined;
    handle = (_, response) => void (closed = pour(response, Buffer.alloc(65_536, "é")));
    const answer = await trusting("/");
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(answer.body).toHaveLength(MEGABYTE);
    await closed;
  });

  it("ACT-01 cuts text on a character boundary", async () => {
    handle = (_, response) => response.end("a€€");
    expect(await trusting("/", { maxBytes: 6 })).toMatchObject({ truncated: true });
    expect((await trusting("/", { maxBytes: 6 })).text()).toBe("a€");
    expect(await trusting("/", { maxBytes: 7 })).toMatchObject({ truncated: false });
    expect((await trusting("/", { maxBytes: 7 })).text()).toBe("a€€");
    expect(await trusting("/", { maxBytes: 0 })).toMatchObject({ truncated: true, body: { length: 0 } });
  });

  const zeros = Buffer.alloc(64 * MEGABYTE);
  it.each([
    ["gzip", () => gzipSync(zeros)],
    ["gzip, gzip", () => gzipSync(gzipSync(zeros))],
    ["deflate", () => deflateSync(zeros)],
    ["br", () => brotliCompressSync(zeros, { params: { 1: 1 } })],
    ["br, deflate, gzip", () => gzipSync(deflateSync(brotliCompressSync(zeros, { params: { 1: 1 } })))],
  ])("FAULT-53 stops a %s bomb at 1 MB decoded", async (coding, make) => {
    const bomb = make();
    handle = (_, response) => response.writeHead(200, { "content-encoding": coding }).end(bomb);
    const before = process.memoryUsage().rss;
    const answer = await trusting("/");
    expect(answer).toMatchObject({ truncated: true });
    expect(answer.body).toHaveLength(MEGABYTE);
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * MEGABYTE);
  });

  it.each([
    ["gzip", (text: string) => gzipSync(text)],
    ["X-GZIP", (text: string) => gzipSync(text)],
    ["deflate", (text: string) => deflateSync(text)],
    ["deflate", (text: string) => deflateRawSync(text)],
    ["br", (text: string) => brotliCompressSync(text)],
    ["identity", (text: string) => Buffer.from(text)],
    ["gzip, br", (text: string) => brotliCompressSync(gzipSync(text))],
    ["unheard-of", (text: string) => Buffer.from(text)],
  ])("decodes %s", async (coding, encode) => {
    handle = (_, response) => response.writeHead(200, { "content-encoding": coding }).end(encode("héllo"));
    expect((await trusting("/")).text()).toBe("héllo");
  });

  it("leaves four codings on top of each other alone", async () => {
    const bytes = gzipSync(gzipSync(gzipSync(gzipSync("x"))));
    handle = (_, response) => response.writeHead(200, { "content-encoding": "gzip, gzip, gzip, gzip" }).end(bytes);
    expect(Buffer.from((await trusting("/")).body).equals(bytes)).toBe(true);
  });

  it("tells a body that is not what its coding says, and one that breaks off", async () => {
    handle = (request, response) => {
      if (request.url === "/wrong") return response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip at all");
      response.writeHead(200, { "content-length": "100" }).write("part");
      setImmediate(() => response.destroy());
    };
    await expect(trusting("/wrong")).rejects.toMatchObject({ code: "SVC_FETCH_FAILED" });
    await expect(trusting("/cut")).rejects.toMatchObject({ code: "SVC_FETCH_FAILED" });
  });

  it.each(["HEAD", "204", "304", "empty"])("takes an answer without a body that claims a coding: %s", async (kind) => {
    handle = (_, response) => response.writeHead(Number(kind) || 200, { "content-encoding": "gzip" }).end();
    const answer = await trusting("/", kind === "HEAD" ? { method: "HEAD" } : {});
    expect(answer.text()).toBe("");
    expect(answer.truncated).toBe(false);
  });

  it("FAULT-53 limits the whole exchange in time, however slowly the body drips", async () => {
    handle = (_, response) => {
      const drip = setInterval(() => response.write("."), 10);
      response.on("close", () => clearInterval(drip));
    };
    await expect(trusting("/", { timeoutMs: 150 })).rejects.toMatchObject({ code: "SVC_FETCH_TIMEOUT", message: expect.stringContaining("150 ms") });
  });
});

describe("AUT-A4 the streaming form", () => {
  const streaming = (path: string, init: FetchStreamInit = {}) => fetch.stream(origin + path, { trustedOrigins: [origin], ...init });
  const textOf = async (body: AsyncIterable<Uint8Array>) => {
    let text = "";
    for await (const piece of body) text += Buffer.from(piece).toString();
    return text;
  };

  it("AUT-A4 hands the head on before the body has ended, and each piece as it comes", async () => {
    let go = () => {};
    handle = (_, response) => {
      response.writeHead(201, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      go = () => response.end("data: 2\n\n");
    };
    const answer = await streaming("/x#part");
    expect(answer).toMatchObject({ status: 201, statusText: "Created", url: `${origin}/x`, headers: { "content-type": "text/event-stream" } });
    const pieces: string[] = [];
    for await (const piece of answer.body) {
      pieces.push(Buffer.from(piece).toString());
      go();
    }
    expect(pieces.join("")).toBe("data: 1\n\ndata: 2\n\n");
    expect(pieces.length).toBeGreaterThan(1);
  });

  it("AUT-A4 guards each hop: no address of this machine, none by a redirect, none by a name", async () => {
    await expect(fetch.stream(origin)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    await expect(named("127.0.0.1").stream("http://anything.example/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    handle = (_, response) => response.writeHead(302, { location: `http://localhost:${port}/` }).end();
    await expect(streaming("/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    await expect(createFetch({ isolated: true }).stream(origin, { trustedOrigins: [origin] })).rejects.toMatchObject({ code: "SVC_FETCH_ISOLATED" });
  });

  it("AUT-A4 takes codings off, and stops a bomb at maxBytes", async () => {
    handle = (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("héllo"));
    expect(await textOf((await streaming("/")).body)).toBe("héllo");
    handle = (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(8 * MEGABYTE)));
    await expect(streaming("/", { maxBytes: MEGABYTE }).then(({ body }) => textOf(body))).rejects.toMatchObject({ code: "SVC_FETCH_TOO_LARGE" });
  });

  it("AUT-A4 an abort, a silence and a cut end the body with their code, and the connection with it", async () => {
    let closed = 0;
    handle = (request, response) => {
      request.socket.once("close", () => (closed += 1));
      response.writeHead(200).write("a");
      if (request.url === "/cut") setImmediate(() => response.destroy());
    };
    const control = new AbortController();
    const aborted = textOf((await streaming("/", { signal: control.signal })).body);
    control.abort();
    await expect(aborted).rejects.toMatchObject({ code: "SVC_FETCH_ABORTED" });
    await expect(streaming("/", { idleMs: 50 }).then(({ body }) => textOf(body))).rejects.toMatchObject({ code: "SVC_FETCH_IDLE" });
    await expect(streaming("/cut").then(({ body }) => textOf(body))).rejects.toMatchObject({ code: "SVC_FETCH_FAILED" });
    await vi.waitFor(() => expect(closed).toBe(3));
  });

  it("AUT-A4 a body that is left early or never begun ends its connection", async () => {
    let closed = 0;
    handle = (request, response) => {
      request.socket.once("close", () => (closed += 1));
      response.writeHead(200).write("a");
    };
    for await (const _ of (await streaming("/")).body) break;
    await streaming("/", { idleMs: 50 });
    await vi.waitFor(() => expect(closed).toBe(2));
  });

  it("AUT-A4 a slow reader holds the far end back", async () => {
    let written = 0;
    let drained = false;
    handle = (_, response) => {
      const chunk = Buffer.alloc(65_536);
      const more = () => {
        while (written < 256 * MEGABYTE) {
          written += chunk.length;
          if (!response.write(chunk)) return response.once("drain", more);
        }
        drained = true;
        response.end();
      };
      response.writeHead(200);
      more();
    };
    const { body } = await streaming("/", { idleMs: 50 });
    let first = true;
    for await (const _ of body) {
      if (!first) break;
      first = false;
      await sleep(200);
      expect(drained).toBe(false);
    }
  });
});
