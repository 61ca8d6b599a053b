import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import type { FetchStreamInit } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { farServer, fetch, MEGABYTE, named, trusting as trustingIn } from "./fetch.harness.ts";
import { createFetch } from "./fetch.ts";

const far = farServer();
const trusting = trustingIn(far);

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
    far.handle = (_, response) => void (closed = pour(response, Buffer.alloc(65_536, "é")));
    const answer = await trusting("/");
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(answer.body).toHaveLength(MEGABYTE);
    await closed;
  });

  it("ACT-01 cuts text on a character boundary", async () => {
    far.handle = (_, response) => response.end("a€€");
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
    far.handle = (_, response) => response.writeHead(200, { "content-encoding": coding }).end(bomb);
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
    far.handle = (_, response) => response.writeHead(200, { "content-encoding": coding }).end(encode("héllo"));
    expect((await trusting("/")).text()).toBe("héllo");
  });

  it("leaves four codings on top of each other alone", async () => {
    const bytes = gzipSync(gzipSync(gzipSync(gzipSync("x"))));
    far.handle = (_, response) => response.writeHead(200, { "content-encoding": "gzip, gzip, gzip, gzip" }).end(bytes);
    expect(Buffer.from((await trusting("/")).body).equals(bytes)).toBe(true);
  });

  it("tells a body that is not what its coding says, and one that breaks off", async () => {
    far.handle = (request, response) => {
      if (request.url === "/wrong") return response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip at all");
      response.writeHead(200, { "content-length": "100" }).write("part");
      setImmediate(() => response.destroy());
    };
    await expect(trusting("/wrong")).rejects.toMatchObject({ code: "SVC_FETCH_FAILED" });
    await expect(trusting("/cut")).rejects.toMatchObject({ code: "SVC_FETCH_FAILED" });
  });

  it.each(["HEAD", "204", "304", "empty"])("takes an answer without a body that claims a coding: %s", async (kind) => {
    far.handle = (_, response) => response.writeHead(Number(kind) || 200, { "content-encoding": "gzip" }).end();
    const answer = await trusting("/", kind === "HEAD" ? { method: "HEAD" } : {});
    expect(answer.text()).toBe("");
    expect(answer.truncated).toBe(false);
  });

  it("FAULT-53 limits the whole exchange in time, however slowly the body drips", async () => {
    far.handle = (_, response) => {
      const drip = setInterval(() => response.write("."), 10);
      response.on("close", () => clearInterval(drip));
    };
    await expect(trusting("/", { timeoutMs: 150 })).rejects.toMatchObject({ code: "SVC_FETCH_TIMEOUT", message: expect.stringContaining("150 ms") });
  });
});

describe("AUT-A4 the streaming form", () => {
  const streaming = (path: string, init: FetchStreamInit = {}) => fetch.stream(far.origin + path, { trustedOrigins: [far.origin], ...init });
  const textOf = async (body: AsyncIterable<Uint8Array>) => {
    let text = "";
    for await (const piece of body) text += Buffer.from(piece).toString();
    return text;
  };

  it("AUT-A4 hands the head on before the body has ended, and each piece as it comes", async () => {
    let go = () => {};
    far.handle = (_, response) => {
      response.writeHead(201, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      go = () => response.end("data: 2\n\n");
    };
    const answer = await streaming("/x#part");
    expect(answer).toMatchObject({ status: 201, statusText: "Created", url: `${far.origin}/x`, headers: { "content-type": "text/event-stream" } });
    const pieces: string[] = [];
    for await (const piece of answer.body) {
      pieces.push(Buffer.from(piece).toString());
      go();
    }
    expect(pieces.join("")).toBe("data: 1\n\ndata: 2\n\n");
    expect(pieces.length).toBeGreaterThan(1);
  });

  it("AUT-A4 guards each hop: no address of this machine, none by a redirect, none by a name", async () => {
    await expect(fetch.stream(far.origin)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    await expect(named("127.0.0.1").stream("http://anything.example/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    far.handle = (_, response) => response.writeHead(302, { location: `http://localhost:${far.port}/` }).end();
    await expect(streaming("/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    await expect(createFetch({ isolated: true }).stream(far.origin, { trustedOrigins: [far.origin] })).rejects.toMatchObject({ code: "SVC_FETCH_ISOLATED" });
  });

  it("AUT-A4 takes codings off, and stops a bomb at maxBytes", async () => {
    far.handle = (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("héllo"));
    expect(await textOf((await streaming("/")).body)).toBe("héllo");
    far.handle = (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(8 * MEGABYTE)));
    await expect(streaming("/", { maxBytes: MEGABYTE }).then(({ body }) => textOf(body))).rejects.toMatchObject({ code: "SVC_FETCH_TOO_LARGE" });
  });

  it("AUT-A4 an abort, a silence and a cut end the body with their code, and the connection with it", async () => {
    let closed = 0;
    far.handle = (request, response) => {
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
    far.handle = (request, response) => {
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
    far.handle = (_, response) => {
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
