import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { HttpRoute } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { peerOf } from "../base/client-address.ts";
import { createAdmission } from "./admit.ts";
import { json, rawExchange, recordingLog, type Serving, serve } from "./http.harness.ts";

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));

const echo: HttpRoute = { method: "POST", path: "/echo", guard: "peer", handle: ({ body }) => ({ body: body ?? null }) };
const post = async (path: string, init: RequestInit) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
};

describe("admission", () => {
  const host = () => `Host: 127.0.0.1:${server.port}`;

  it("FAULT-48 two lengths, two Hosts, absolute-form and //host are 400", async () => {
    server = await serve([echo, { ...echo, method: "GET" }]);
    const get = (line: string, headers: string) => rawExchange(server.port, `${line} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);
    expect((await get("GET /echo", host())).status).toBe(200);
    const cases = [
      get("GET http://evil.example/echo", host()),
      get(`GET http://127.0.0.1:${server.port}/echo`, host()),
      get("GET //evil.example/echo", host()),
      get("GET /\\evil.example/echo", host()),
      get("OPTIONS *", host()),
      get("GET /echo", `${host()}\r\n${host()}`),
      get("GET /echo", `${host()}\r\nhOST: evil.example`),
      get("GET /echo", "X-Other: 1"),
      get("POST /echo", `${host()}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked`),
      get("POST /echo", `${host()}\r\nContent-Length: 2\r\nContent-Length: 3`),
      get("GET /%zz", host()),
    ];
    for (const { status, head, body } of await Promise.all(cases)) {
      expect(status, head).toBe(400);
      expect(JSON.parse(body)).toMatchObject({ error: expect.any(String), code: expect.stringMatching(/^SVC_HTTP_|^FST_/) });
    }
  });

  it("lets loopback names, its own addresses and configured hosts in, and no other name", async () => {
    server = await serve([{ ...echo, method: "GET", guard: "open" }], { hosts: () => ["", "0.0.0.0", "Svc.Example"] });
    const status = async (name: string) => (await rawExchange(server.port, `GET /echo HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)).status;
    for (const good of ["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:80", "svc.example", "SVC.example:443"]) expect(await status(good), good).toBe(200);
    for (const bad of ["evil.example", "0.0.0.0", "localhost.evil.example", "127.0.0.1.nip.example", "svc.example.", "10.9.8.7", "a@localhost", "localhost:x"])
      expect(await status(bad), bad).toBe(403);
  });

  it("refuses pages of other origins, by Origin and by Sec-Fetch-Site, and lets its own and the listed ones in", async () => {
    server = await serve([echo, { ...echo, method: "GET" }], { origins: () => ["", "https://panel.example"] });
    const status = async (headers: Record<string, string>, method = "POST") =>
      (await post("/echo", { ...json({}, headers), method, ...(method === "GET" ? { body: null } : {}) })).status;
    expect(await status({ origin: server.url })).toBe(200);
    expect(await status({ origin: "https://panel.example" })).toBe(200);
    for (const origin of ["https://evil.example", "null", "http://127.0.0.1", `http://localhost:${server.port}`, `${server.url}.evil.example`]) {
      expect(await status({ origin }), origin).toBe(403);
      expect(await status({ origin }, "GET"), origin).toBe(403);
    }
    const site = (method: string) =>
      rawExchange(server.port, `${method} /echo HTTP/1.1\r\n${host()}\r\nSec-Fetch-Site: cross-site\r\nConnection: close\r\n\r\n`);
    expect((await site("POST")).status).toBe(403);
    expect((await site("GET")).status).toBe(200);
  });
});

/** A request as node hands it over, from an address this machine may not have. */
function request(remoteAddress: string, host: string, localAddress = "192.0.2.1"): IncomingMessage {
  const socket = Object.defineProperties(new Socket(), { remoteAddress: { value: remoteAddress }, localAddress: { value: localAddress } });
  const message = new IncomingMessage(socket);
  message.url = "/x";
  message.method = "GET";
  message.rawHeaders = ["Host", host];
  message.headers = { host };
  return message;
}

it("AUTH-16 tells loopback by the socket address in every spelling, and by nothing else", () => {
  const loopback = (address: string) => peerOf(request(address, "x").socket).loopback;
  for (const address of ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1", "::FFFF:127.1.1.1", "0:0:0:0:0:0:0:1"])
    expect(loopback(address), address).toBe(true);
  for (const address of ["128.0.0.1", "192.0.2.1", "::ffff:192.0.2.1", "::2", "fe80::1%lo", "localhost", "127.0.0.1.example", ""])
    expect(loopback(address), address).toBe(false);
  expect(peerOf(request("::ffff:192.0.2.9", "x").socket).address).toBe("192.0.2.9");
});

it("lets other machines use any name only where it is told so, and never this machine's own browsers", () => {
  const strict = createAdmission({ hosts: () => [], origins: () => [], log: recordingLog() });
  const lenient = createAdmission({ hosts: () => [], origins: () => [], anyNameFromAfar: true, log: recordingLog() });
  expect(strict(request("198.51.100.7", "mybox.lan:18800"))).toMatchObject({ status: 403, code: "SVC_HTTP_HOST" });
  expect(lenient(request("198.51.100.7", "mybox.lan:18800"))).toBeUndefined();
  expect(lenient(request("127.0.0.1", "mybox.lan:18800"))).toMatchObject({ status: 403 });
  expect(lenient(request("198.51.100.7", "bad host"))).toMatchObject({ status: 403 });
});

it("lets the addresses in that the connection came to, in every spelling", () => {
  const strict = createAdmission({ hosts: () => [], origins: () => [], log: recordingLog() });
  expect(strict(request("198.51.100.7", "192.0.2.1:80", "::ffff:192.0.2.1"))).toBeUndefined();
  expect(strict(request("198.51.100.7", "[2001:db8::1]", "2001:DB8::1"))).toBeUndefined();
  expect(strict(request("198.51.100.7", "192.0.2.2"))).toMatchObject({ status: 403 });
});
