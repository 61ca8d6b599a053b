import { createHmac } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type HttpRoute, requireSignature, requireSignatureHeader, SIGNATURES } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { rawExchange, type Serving, serve } from "./http.harness.ts";

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));

const SECRET = "the secret of this webhook";
const MAX = 26_214_400;
/** Passed on by a proxy, as webhooks come. */
const FORWARDED = { "x-forwarded-for": "203.0.113.9" };
const signed = (body: Buffer) => ({ ...FORWARDED, "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}` });

/** A webhook as a plugin writes it. */
const hook = (more: Partial<HttpRoute> = {}): HttpRoute => ({
  method: "POST",
  path: "/hook",
  guard: "signed",
  raw: true,
  maxBytes: MAX,
  before: (asked) => requireSignatureHeader(asked, SECRET, [SIGNATURES.hub, SIGNATURES.standard, SIGNATURES.forge]),
  async handle(asked, reply) {
    await requireSignature(asked, SECRET, [SIGNATURES.hub, SIGNATURES.standard, SIGNATURES.forge]);
    reply.status(202);
    return { bytes: asked.raw?.length };
  },
  ...more,
});
const post = async (body: Buffer, headers: Record<string, string>) => {
  const answer = await fetch(`${server.url}/hook`, { method: "POST", body: new Uint8Array(body), headers });
  return [answer.status, (await answer.json()) as { bytes?: number; code?: string }];
};

describe("bodies of signed webhooks", () => {
  it("AUT-A7 of two megabytes that a proxy passes on are accepted with their signature", async () => {
    server = await serve([hook()]);
    const body = Buffer.alloc(2_000_000, "x");
    expect(await post(body, signed(body))).toEqual([202, { bytes: body.length }]);
    expect(await post(Buffer.alloc(2_000_000, "y"), signed(body))).toMatchObject([401, { code: "SVC_REQUEST_UNSIGNED" }]);
  });

  it("FAULT-46 without a signature are 401 before a byte of them is read, whatever their size, and before 413", async () => {
    server = await serve([hook({ maxBytes: 1_000 })]);
    let far: Socket | undefined;
    server.server.on("connection", (socket: Socket) => {
      far = socket;
    });
    for (const header of ["", "X-Hub-Signature-256: sha256=00\r\n", "X-Forge-Token: another\r\n"]) {
      const head = `POST /hook HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.9\r\n${header}Content-Length: 2000000\r\n\r\n`;
      const answer = await rawExchange(server.port, head);
      expect([answer.status, JSON.parse(answer.body).code, answer.closed]).toEqual([401, "SVC_REQUEST_UNSIGNED", true]);
      expect(far?.bytesRead).toBe(head.length);
    }
    const tooLarge = `POST /hook HTTP/1.1\r\nHost: localhost\r\nX-Forge-Token: ${SECRET}\r\nContent-Length: 2000000\r\n\r\n`;
    expect((await rawExchange(server.port, tooLarge)).status).toBe(413);
    expect(far?.bytesRead).toBe(tooLarge.length);
  });

  it("FAULT-46 are not even sent by those who ask first, unless they are wanted", async () => {
    server = await serve([hook()]);
    const body = Buffer.alloc(200_000, "x");
    const ask = async (headers: Record<string, string>) => {
      const asked = request(`${server.url}/hook`, { method: "POST", headers: { ...headers, expect: "100-continue", "content-length": `${body.length}` } });
      asked.on("error", () => {});
      let isWanted = false;
      asked.on("continue", () => {
        isWanted = true;
        asked.end(body);
      });
      asked.flushHeaders();
      const [answer] = await once(asked, "response");
      asked.destroy();
      return [answer.statusCode, isWanted];
    };
    expect(await ask(signed(body))).toEqual([202, true]);
    expect(await ask(FORWARDED)).toEqual([401, false]);
    expect(await ask({ ...signed(body), host: "elsewhere.example" })).toEqual([403, false]);
  });

  it("FAULT-49 that do not come on are given up in time", async () => {
    server = await serve([hook()], { timeouts: { headers: 300, request: 300, check: 50 } });
    const body = Buffer.alloc(1_000, "x");
    const head = Object.entries(signed(body)).map(([name, value]) => `${name}: ${value}\r\n`);
    const answer = await rawExchange(server.port, `POST /hook HTTP/1.1\r\nHost: localhost\r\n${head.join("")}Content-Length: 1000\r\n\r\nxxx`);
    expect([answer.status, answer.closed]).toEqual([408, true]);
    expect(await post(body, signed(body))).toMatchObject([202, { bytes: 1_000 }]);
  });

  it("FAULT-46 fifty of the largest at once take the memory of four, and those who find no room are told to come again", async () => {
    const size = 8_388_608;
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
    const [body, start] = [Buffer.alloc(size, "x"), process.memoryUsage().arrayBuffers];
    const headers = signed(body);
    let peak = 0;
    const slow = hook().handle;
    server = await serve(
      [
        hook({
          async handle(asked, reply) {
            // What is refused and not yet collected is no memory that is held.
            collect();
            peak = Math.max(peak, process.memoryUsage().arrayBuffers - start);
            return slow(asked, reply);
          },
        }),
      ],
      { bodyLimits: { unknown: 65_536, known: 1_048_576, large: 4 * size } },
    );
    const send = () =>
      new Promise<number>((resolve) => {
        const socket = connect(server.port, "127.0.0.1", () => {
          socket.write(
            `POST /hook HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
              .map(([name, value]) => `${name}: ${value}\r\n`)
              .join("")}Content-Length: ${size}\r\n\r\n`,
          );
          socket.write(body);
        });
        let answer = "";
        socket.on("data", (text) => {
          answer += text;
          socket.destroy();
        });
        socket.on("error", () => {});
        socket.on("close", () => resolve(Number(answer.split(" ")[1] ?? 0)));
      });
    const statuses = await Promise.all(Array.from({ length: 50 }, send));
    expect(new Set(statuses.filter((status) => status !== 202 && status !== 0))).toEqual(new Set([503]));
    expect(statuses).toContain(202);
    // What arrives, and once more while its pieces are joined.
    expect(peak).toBeLessThan(2.5 * 4 * size);
    expect((await post(body, headers))[0]).toBe(202);
  });
});
