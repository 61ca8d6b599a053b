import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FetchInit } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { canary, farServer, fetch, trusting as trustingIn } from "./fetch.harness.ts";
import { createFetch } from "./fetch.ts";

const far = farServer();
const trusting = trustingIn(far);

describe("requests", () => {
  it("ACT-02 gives back a 404 as an answer, with everything in it", async () => {
    far.handle = (request, response) => {
      response.writeHead(404, "Nope", { "X-Seen": "1", "set-cookie": ["a=1", "b=2"] }).end(`gone: ${request.url}`);
    };
    const answer = await trusting("/x?q=1#f");
    expect(answer).toMatchObject({
      status: 404,
      statusText: "Nope",
      truncated: false,
      url: `${far.origin}/x?q=1`,
      headers: { "x-seen": "1", "set-cookie": "a=1, b=2" },
    });
    expect(answer.text()).toBe("gone: /x?q=1");
  });

  it("sends method, headers and body, and keeps to itself what the connection sets", async () => {
    far.handle = async (request, response) => {
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
      headers: { host: `127.0.0.1:${far.port}`, "content-length": "2", "x-a": "1", "content-type": "text/plain;charset=UTF-8" },
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
    expect(far.connections).toBe(0);
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
      expect((await createFetch()(`${far.origin}/`, { trustedOrigins: [far.origin] })).text()).toBe("reached");
    } finally {
      process.env = before;
    }
  });

  it("keeps a connection for the next request, and opens a new one when it was closed meanwhile", async () => {
    await trusting("/");
    await trusting("/");
    expect(far.connections).toBe(1);
    far.server.closeIdleConnections();
    expect((await trusting("/")).text()).toBe("reached");
    expect(far.connections).toBe(2);
  });

  it("FAULT-59 names the host of a failed request and nothing that may be a key", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port: free } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    const failing = (address: string, init: FetchInit = {}) =>
      fetch(address, { trustedOrigins: [new URL(address).origin], headers: { authorization: canary }, ...init });
    far.handle = (request, response) => (request.url?.includes("hang") ? undefined : response.destroy());
    const errors = await Promise.all(
      [
        failing(`http://127.0.0.1:${free}/bot${canary}/x?token=${canary}`),
        failing(`${far.origin}/cut?token=${canary}`),
        failing(`${far.origin}/hang?token=${canary}`, { timeoutMs: 50 }),
        fetch(`${far.origin}/?token=${canary}`),
        createFetch({ resolve: () => Promise.reject(Object.assign(new Error(canary), { code: "ENOTFOUND" })) })(`http://x.test/?token=${canary}`),
      ].map((work) => work.catch((reason) => reason)),
    );
    expect(errors.map((error) => error.code)).toEqual(["SVC_FETCH_FAILED", "SVC_FETCH_FAILED", "SVC_FETCH_TIMEOUT", "SVC_FETCH_BLOCKED", "SVC_FETCH_FAILED"]);
    expect(errors[0].message).toContain("ECONNREFUSED");
    for (const error of errors) expect(`${error.stack}${JSON.stringify(error)}${error.cause}`).not.toContain(canary);
  });

  it("ends when its caller gives up: before, while waiting, and within the body", async () => {
    far.handle = (request, response) => {
      if (request.url === "/body") response.write("part");
    };
    await expect(trusting("/", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "SVC_FETCH_ABORTED" });
    expect(far.connections).toBe(0);
    for (const path of ["/wait", "/body"]) {
      const controller = new AbortController();
      const request = once(far.server, "request");
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
