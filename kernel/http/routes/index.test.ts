import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bearer, ownAddress, REMOTE, rawExchange } from "../http.harness.ts";
import { servedKernel } from "./kernel.harness.ts";

const at = servedKernel();

describe("guards", () => {
  it("AUTH-18 nothing but /health, /ready and the greeting is open to another machine", async () => {
    const routes = at.server.routes();
    expect(routes.filter(({ guard }) => guard === "open").map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /health", "GET /ready", "GET /"]);
    expect(routes.filter(({ guard }) => guard !== "open" && guard !== "peer" && guard !== "loopback")).toEqual([]);
    expect(routes.length).toBeGreaterThan(12);
    for (const { method, path, guard } of at.server.routes().filter(({ guard: own }) => own !== "open")) {
      const target = path.replace(/:\w+/g, "x");
      const asked = async (headers: Record<string, string>) =>
        (await fetch(`${at.server.url}${target}`, { method, headers: { ...REMOTE, ...headers } })).status;
      // No bearer helps where only this machine may call.
      const stranger = guard === "loopback" ? 403 : 401;
      expect(await asked({}), `${method} ${path} ${guard}`).toBe(stranger);
      expect(await asked(bearer("wrong"))).toBe(stranger);
      expect(await asked(bearer("scoped"))).toBe(403);
    }
    expect((await at.call("/traces", { headers: { ...REMOTE, ...bearer("mesh") } })).status).toBe(200);
    const own = ownAddress();
    if (own !== undefined) expect((await fetch(`http://${own}:${at.server.port}/agents`)).status).toBe(200);
  });

  it("whatever is sent, the answer is never 5xx, and never 2xx to a stranger beyond what is open", async () => {
    const path = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.constantFrom(
          "/task",
          "/ask",
          "/agents",
          "/events/recent",
          "/traces",
          "/traces/x",
          "/health",
          "/reload",
          "/api/tasks/x/cancel",
          "/api/tasks/x/followup",
        ),
      },
      fc.webPath(),
      fc.stringMatching(/^\/[\x21-\x7e]{0,40}$/),
    );
    const header = fc.constantFrom(
      "Accept: application/json",
      "Content-Type: application/json",
      "Content-Type: application/json",
      "Content-Type: application/json",
      "Content-Type: text/plain",
      "Origin: null",
      "Authorization: Bearer wrong",
      "Authorization: Basic x",
      "Sec-Fetch-Site: cross-site",
      "Idempotency-Key: k",
      "Accept: */*",
      "Expect: 100-continue",
      "Upgrade: websocket",
    );
    const body = fc.oneof(
      fc.json(),
      fc.string(),
      fc.record({ agent: fc.constantFrom("echo", "nobody"), message: fc.string() }).map((value) => JSON.stringify(value)),
      fc
        .dictionary(fc.constantFrom("agent", "message", "context", "__proto__", "replace", "constructor"), fc.jsonValue())
        .map((value) => JSON.stringify(value)),
    );
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("GET", "GET", "GET", "POST", "POST", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PROPFIND"),
        path,
        fc.webQueryParameters(),
        fc.uniqueArray(header, { maxLength: 5, selector: (line) => line.split(":")[0] }),
        body,
        fc.boolean(),
        async (method, target, query, headers, text, stranger) => {
          const lines = [
            `${method} ${target}${query === "" ? "" : `?${query}`} HTTP/1.1`,
            "Host: localhost",
            ...headers,
            "Connection: close",
            ...(stranger ? ["X-Forwarded-For: 9.9.9.9"] : []),
            `Content-Length: ${Buffer.byteLength(text)}`,
          ];
          const { status, head } = await rawExchange(at.server.port, `${lines.join("\r\n")}\r\n\r\n${text}`);
          expect(status, `${lines.join("\n")}\n${text}\n${head}`).toBeLessThan(500);
          seen.add(status);
          if (stranger && status >= 200 && status < 300) expect(["/health", "/ready", "/"]).toContain(target.split("?")[0]);
        },
      ),
      { numRuns: 400 },
    );
    expect([...seen]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405]));
    expect(seen).not.toContain(0);
    expect(at.server.log.lines.filter((line) => line.includes("a request failed"))).toEqual([]);
  });
});
