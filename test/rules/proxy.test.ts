import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../kit/free-port.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { pageSample } from "../kit/page-sample.ts";
import { endProxies, NGINX, startNginx, startProxy } from "../kit/web-proxy.ts";
import { bearer, type Guarded, get, guarded, send } from "./auth.harness.ts";

const CADDY = ["/usr/bin/caddy", "/usr/local/bin/caddy"].find((file) => existsSync(file));
for (const [name, found] of Object.entries({ nginx: NGINX, caddy: CADDY })) if (found === undefined) console.warn(`skipped, ${name} is not installed`);

const sample = (name: string) => pageSample("docs/proxy.md", name);
afterEach(endProxies);

const nginx = async (server: string, upstream: string): Promise<number> => startNginx(server.replace("http://127.0.0.1:18800", upstream), await freePort());

async function caddy(site: string, upstream: string): Promise<number> {
  const folder = await temporaryFolder();
  const port = await freePort();
  const here = site.replace(/^svc\.example/, `http://svc.example:${port}`).replace("127.0.0.1:18800", upstream.slice("http://".length));
  await writeFile(join(folder, "Caddyfile"), `{\n admin off\n auto_https off\n default_bind 127.0.0.1\n}\n${here}`);
  await mkdir(join(folder, "home"));
  return startProxy(CADDY as string, ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")], { HOME: join(folder, "home") }, port);
}

/** The status of a request with so many empty headers before the rest. */
async function statusOf(port: number, line: string, fillers: number, more = "", body = ""): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  const length = body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  socket.write(`${line} HTTP/1.1\r\nHost: svc.example\r\n${"a:\r\n".repeat(fillers)}${more}${length}Connection: close\r\n\r\n${body}`);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  await once(socket, "close");
  return Number(answer.split(" ")[1]);
}

const hook = definePlugin({
  kind: "feature",
  name: "hook",
  version: "1.0.0",
  svc: "*",
  capabilities: ["routes"],
  setup(ctx) {
    ctx.provide.route({ method: "GET", path: "/who", guard: "open", handle: ({ caller }) => ({ address: caller.address, local: caller.local }) });
  },
});

const daemon = (node: object): Promise<Guarded> =>
  guarded({
    config: {
      node: { id: "n1", name: "Node 1", bind: "127.0.0.1:0", defaultAgent: "foo", ...node },
      mesh: { enabled: true, peers: [{ name: "afar", url: "http://192.0.2.1:18800", token: "peer-secret-0123456789" }] },
    },
    dashboard: { token: "board-secret-0123456789" },
    plugins: [hook as Plugin<never>],
  });

const PROXIES = [
  ["nginx", NGINX, nginx, "server { listen 443 ssl; location / { proxy_pass http://127.0.0.1:18800; } }", sample("nginx")],
  ["caddy", CADDY, caddy, sample("caddy"), sample("caddy")],
] as const;

describe.each(PROXIES)("behind %s", (_name, program, run, bare, documented) => {
  const documents = JSON.parse(sample("svc")).node as object;

  it.skipIf(program === undefined)("OPR-M6 SEC-S2 with its defaults nobody from outside is this machine, whatever is sent before", async () => {
    const { daemon: upstream } = await daemon({ hosts: ["svc.example"] });
    for (const server of new Set([bare, documented])) {
      const port = await run(server, upstream);
      for (const fillers of [0, 150, 998, 1_990]) {
        for (const line of ["GET /agents", "GET /traces", "GET /events/recent"])
          expect(await statusOf(port, line, fillers), `${line} ${fillers}`).not.toBe(200);
        expect(await statusOf(port, "POST /task", fillers, "", '{"agent":"foo","message":"hi"}')).not.toBe(200);
        expect(await statusOf(port, "POST /reload", fillers, "", "{}")).not.toBe(200);
      }
      expect(await statusOf(port, "GET /health", 0)).toBe(200);
    }
  });

  it.skipIf(program === undefined)("OPR-M6 as documented the daemon is reached by its name, knows the client, and asks for what proves it", async () => {
    const { daemon: upstream, dashboard } = await daemon(documents);
    const port = await run(documented, upstream);
    const at = (path: string, headers: Record<string, string> = {}) => viaProxy(port, path, headers);
    expect((await at("/who")).body).toEqual({ address: "127.0.0.1", local: false });
    expect((await at("/agents")).status).toBe(401);
    expect((await at("/agents", bearer("wrong"))).status).toBe(401);
    expect((await at("/agents", bearer("peer-secret-0123456789"))).status).toBe(200);
    expect((await get(upstream, "/agents")).status).toBe(200);
    const board = await run(documented, dashboard);
    expect((await viaProxy(board, "/api/live")).status).toBe(401);
    expect((await viaProxy(board, "/api/live", bearer("board-secret-0123456789"))).status).toBe(200);
  });

  it.skipIf(program === undefined)("OPR-M6 without the setting the refusal names it", async () => {
    const { daemon: upstream } = await daemon({});
    const port = await run(documented, upstream);
    expect(await viaProxy(port, "/health")).toMatchObject({ status: 403, body: { error: expect.stringContaining("node.hosts") } });
  });
});

it.skipIf(NGINX === undefined)("OPR-M6 node.localSecret shuts out who comes through a proxy that adds nothing", async () => {
  const bare = "server { listen 443 ssl; location / { proxy_pass http://127.0.0.1:18800; proxy_http_version 1.1; } }";
  const { daemon: open } = await daemon({});
  expect((await viaProxy(await nginx(bare, open), "/agents")).status).toBe(200);
  const { daemon: shut } = await daemon({ localSecret: true });
  expect((await viaProxy(await nginx(bare, shut), "/agents")).status).toBe(401);
});

it("OPR-M6 node.hosts and node.trustedProxies hold from the next reload on", async () => {
  const { daemon: base, svc } = await daemon({});
  expect((await get(base, "/who", { "x-forwarded-for": "192.0.2.7" })).body).toEqual({ address: "127.0.0.1", local: false });
  expect((await svc("config", "set", "node.trustedProxies", '["127.0.0.1"]')).code).toBe(0);
  await send(base, "/reload");
  expect((await get(base, "/who", { "x-forwarded-for": "192.0.2.7" })).body).toEqual({ address: "192.0.2.7", local: false });
});

/** A GET by the proxy's name: `fetch` sets Host by itself. */
async function viaProxy(port: number, path: string, headers: Record<string, string> = {}): Promise<{ status: number; body: Record<string, unknown> }> {
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries({ host: "svc.example", connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  await once(socket, "close");
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const json = /\{[\s\S]*\}/.exec(body)?.[0] ?? "{}";
  return { status: Number(head.split(" ")[1]), body: JSON.parse(json) as Record<string, unknown> };
}
