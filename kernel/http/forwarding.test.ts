import type { HttpRoute } from "@svc/sdk";
import { fastify } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { createTrustedProxies, isForwarded } from "./forwarding.ts";
import { bearer, rawExchange, recordingLog, SCOPES, type Serving, serve, tableAuthority } from "./http.harness.ts";
import { routesPlugin } from "./routes-plugin.ts";
import { createSurface } from "./surface.ts";

let server: Serving;
afterEach(() => server?.close({ graceMs: 100 }));

const who = (guard: HttpRoute["guard"], path: string): HttpRoute => ({ method: "GET", path, guard, handle: ({ caller }) => caller });
const ROUTES = [who("peer", "/m"), who("loopback", "/l"), who("open", "/o")];
const get = (path: string, headers: string, port = server.port) => rawExchange(port, `GET ${path} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);

describe("a header cannot hide behind others", () => {
  const hidden = ["X-Forwarded-For: 203.0.113.9", "Origin: http://evil.example", "Host: second.example"];
  it.each([0, 190, 998, 1_990, 2_000, 2_700])("SEC-S2 behind %i empty ones it is seen, or the request is refused", async (fillers) => {
    server = await serve(ROUTES);
    for (const header of hidden)
      for (const path of ["/m", "/l"]) {
        const { status } = await get(path, `Host: localhost\r\n${"a:\r\n".repeat(fillers)}${header}`);
        expect(fillers > 198 ? [431] : [400, 401, 403], `${header} behind ${fillers}`).toContain(status);
      }
  });

  it("SEC-S2 nor where somebody else's server carries the routes", async () => {
    const app = fastify();
    const surface = createSurface({
      name: "daemon",
      routes: () => ROUTES,
      authorities: () => [],
      scopes: SCOPES,
      isIsolated: () => false,
      isChild: async () => false,
      log: recordingLog(),
    });
    app.register(routesPlugin(surface));
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as { port: number };
    expect((await get("/l", "Host: localhost", port)).status).toBe(200);
    expect((await get("/l", `Host: localhost\r\n${"a:\r\n".repeat(1_200)}X-Forwarded-For: 203.0.113.9`, port)).status).toBe(431);
    await app.close();
  });
});

it("SEC-S2 AUTH-17 every forwarding header means that a proxy passed it on, also an empty one", () => {
  const names =
    "forwarded x-forwarded-for x-forwarded-proto x-forwarded via x-real-ip cf-ray cf-connecting-ip cdn-loop true-client-ip x-client-ip x-cluster-client-ip x-original-forwarded-for x-original-host x-envoy-external-address x-envoy-internal fastly-client-ip x-proxyuser-ip x-remote-addr x-azure-clientip x-appengine-user-ip x-amzn-trace-id fly-client-ip tailscale-user-login";
  const forwarded = (headers: Record<string, string>, httpVersion = "1.1") => isForwarded({ headers, httpVersion });
  for (const name of names.split(" ")) expect(forwarded({ host: "localhost", [name]: "" }), name).toBe(true);
  const plain = { host: "localhost", "x-requested-with": "svc", "cache-control": "no-store", origin: "x", "x-forge-signature-256": "", "user-agent": "via" };
  expect(forwarded(plain)).toBe(false);
  expect(forwarded(plain, "1.0")).toBe(true);
});

describe("a trusted proxy", () => {
  const loopback = { address: "127.0.0.1", loopback: true, own: true };
  const client = (networks: string[], headers: Record<string, string>, from = loopback) => createTrustedProxies(networks).clientOf(from, headers).address;

  it("SEC-S2 is believed about its client: the right-most that is no trusted proxy itself", () => {
    const own = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];
    expect(client(own, { "x-forwarded-for": "192.0.2.1" })).toBe("192.0.2.1");
    expect(client(own, { "x-forwarded-for": "127.0.0.1, 198.51.100.7, 10.1.2.3" })).toBe("198.51.100.7");
    expect(client(own, { "x-forwarded-for": "10.9.9.9, 10.1.2.3" })).toBe("10.9.9.9");
    expect(client(own, { "x-forwarded-for": "192.0.2.1:4711" })).toBe("192.0.2.1");
    expect(client(own, { "x-forwarded-for": "::ffff:192.0.2.1" })).toBe("192.0.2.1");
    expect(client(own, { forwarded: 'for=192.0.2.9;proto=https, for="[2001:db8::7]:80"' })).toBe("192.0.2.9");
    expect(client(own, { "x-forwarded-for": "192.0.2.1", forwarded: "for=203.0.113.5" })).toBe("192.0.2.1");
  });

  it("SEC-S2 whose word is no address, or who is not trusted, stands for itself", () => {
    expect(client(["127.0.0.1"], { "x-forwarded-for": "unknown" })).toBe("127.0.0.1");
    expect(client(["127.0.0.1"], { "x-real-ip": "192.0.2.1" })).toBe("127.0.0.1");
    expect(client([], { "x-forwarded-for": "192.0.2.1" })).toBe("127.0.0.1");
    expect(client(["10.0.0.0/8"], { "x-forwarded-for": "192.0.2.1" })).toBe("127.0.0.1");
  });

  it("SEC-S2 never makes a caller this machine, whatever it says", async () => {
    server = await serve(ROUTES, { trustedProxies: () => ["127.0.0.1"] });
    for (const address of ["127.0.0.1", "::1", "192.0.2.1", ""]) {
      const headers = `Host: localhost\r\nX-Forwarded-For: ${address}`;
      expect((await get("/l", headers)).status).toBe(403);
      expect((await get("/m", headers)).status).toBe(401);
      expect(JSON.parse((await get("/o", headers)).body)).toMatchObject({ local: false });
    }
    expect(JSON.parse((await get("/o", "Host: localhost\r\nX-Forwarded-For: 192.0.2.1")).body)).toEqual({ address: "192.0.2.1", local: false });
    expect((await get("/l", "Host: localhost")).status).toBe(200);
  });

  it("SEC-S2 lets one client guess no further and others go on", async () => {
    const throttle = { perAddress: 2, total: 100, windowMs: 60_000 };
    server = await serve([who("peer", "/m")], { trustedProxies: () => ["127.0.0.1"], authorities: () => [tableAuthority({})], throttle });
    const guess = async (address: string) => (await fetch(`${server.url}/m`, { headers: { ...bearer("wrong"), "x-forwarded-for": address } })).status;
    expect([await guess("192.0.2.1"), await guess("192.0.2.1"), await guess("192.0.2.1")]).toEqual([401, 401, 429]);
    expect(await guess("192.0.2.2")).toBe(401);
  });
});
