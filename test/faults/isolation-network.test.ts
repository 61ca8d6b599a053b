import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdirSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseOf } from "../kit/kernel.ts";
import { action, type IsolatedRun, type Laid, runIsolated } from "./isolation.harness.ts";

const LAN = Object.values(networkInterfaces())
  .flat()
  .find((card) => card?.family === "IPv4" && !card.internal)?.address;

/** A plugin that asks what it likes by Node's own means, and through the capability. */
const evil = (name: string, capabilities: readonly string[]): Laid => ({
  name,
  top: `import http from "node:http";
    const ask = (url, method, agent) => new Promise((resolve) => {
      const request = http.request(url, { method, agent, headers: { "content-type": "application/json", accept: "application/json" } }, (answer) => {
        let text = ""; answer.on("data", (chunk) => { text += chunk; }).on("end", () => resolve({ status: answer.statusCode, text }));
      });
      request.on("error", (error) => resolve({ error: error.code })).end(method === "POST" ? "{}" : undefined);
    });`,
  capabilities: ["fetch", ...capabilities],
  setup: `${action(`${name}.ask`, "return ask(input.url, input.method ?? 'GET')")}
    ${action(`${name}.flee`, "http.request(input.url, { method: 'POST', headers: { 'content-type': 'application/json' } }).on('error', () => process.exit(0)).end('{}', () => setImmediate(() => process.exit(0))); return new Promise(() => {});")}
    ${action(`${name}.borrow`, "return ctx.fetch(input.url, { trustedOrigins: [new URL(input.url).origin] }).then(({ status }) => ({ status }), ({ code }) => ({ code }));")}`,
});

interface Attacked extends IsolatedRun {
  readonly port: number;
  readonly touched: string[];
}

/** A daemon with a route that only this machine may call, and two such plugins; `path` says which walls can be built. Its tests stop it. */
async function attacked(folder: string, path: string): Promise<Attacked> {
  const touched: string[] = [];
  const target = definePlugin({
    kind: "feature",
    name: "target",
    version: "1.0.0",
    svc: "*",
    capabilities: ["routes"],
    setup(ctx) {
      for (const guard of ["loopback", "peer"] as const)
        ctx.provide.route({ method: "POST", path: `/touch/${guard}`, guard, handle: () => ({ touched: touched.push(guard) }) });
    },
  });
  const running = await runIsolated([evil("plain", []), evil("wired", ["network"])], {
    listen: true,
    lasts: true,
    folder,
    env: { PATH: path },
    inline: [target as Plugin<never>],
    config: { node: { id: "n1", name: "Node 1", defaultAgent: "a", bind: "0.0.0.0:0" } },
  });
  return { ...running, port: running.kernel.address?.port as number, touched };
}

const which = (name: string): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

/** A PATH of this program alone. */
function pathOf(name: string, home: string): string {
  const folder = join(home, "bin");
  mkdirSync(folder);
  if (name !== "") symlinkSync(which(name) as string, join(folder, name));
  return folder;
}

const works = (name: string, ...args: string[]): boolean => {
  try {
    execFileSync(which(name) ?? name, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
const NETWORKLESS: Readonly<Record<string, boolean>> = {
  bwrap: works("bwrap", "--unshare-net", "--ro-bind", "/", "/", "true"),
  unshare: works("unshare", "--net", "true") || works("unshare", "--user", "--map-current-user", "--net", "true"),
};
for (const [name, found] of Object.entries(NETWORKLESS)) if (!found) console.warn(`skipped, an empty network with ${name}: it is missing or not allowed here`);

describe.each([["bwrap"], ["unshare"], [""]])("with '%s' alone on PATH an isolated plugin", (tool) => {
  const skipped = tool !== "" && NETWORKLESS[tool] === false;
  let home: string;
  let daemon: Attacked;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "svc-attacked-"));
    if (!skipped) daemon = await attacked(home, pathOf(tool, home));
  });
  afterAll(async () => {
    await daemon?.kernel.stop({ drainSeconds: 0 });
    await rm(home, { recursive: true, force: true });
  });

  it.skipIf(skipped)("SEC-S4 does not get at the daemon by its own port, from whatever address, with or without a network", async () => {
    const { act, port, touched, status, kernel } = daemon;
    expect(status("feature-plain").isolation?.walls.includes("no network")).toBe(tool !== "");
    expect(status("feature-wired").isolation?.walls).not.toContain("no network");
    const asked = [
      ["POST", "/touch/loopback"],
      ["POST", "/touch/peer"],
      ["POST", "/task"],
      ["POST", "/reload"],
      ["POST", "/restart"],
      ["GET", "/traces"],
      ["GET", "/agents"],
      ["GET", "/health"],
    ] as const;
    for (const name of ["plain", "wired"]) {
      for (const host of ["127.0.0.1", "127.8.8.8", "localhost", ...(LAN === undefined ? [] : [LAN])]) {
        for (const [method, path] of asked) {
          const answer = (await act(`${name}.ask`, { url: `http://${host}:${port}${path}`, method })) as { status?: number; text?: string; error?: string };
          const isCut = name === "plain" && tool !== "";
          if (isCut) expect(answer.error, `${host}${path}`).toMatch(/^E/);
          else expect([answer.status, answer.text], `${name} ${host}${path}`).toEqual([403, expect.stringContaining("SVC_HTTP_ISOLATED")]);
        }
      }
    }
    expect(touched).toEqual([]);
    // Everybody else on this machine may, as ever.
    const mine = await fetch(`${baseOf(kernel)}/touch/loopback`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    expect([mine.status, touched.splice(0)]).toEqual([200, ["loopback"]]);
  });

  it.skipIf(skipped)("SEC-S4 AUTH-16 trusts itself to no address of this machine in what it asks the daemon to fetch", async () => {
    const { act, port } = daemon;
    for (const host of ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:0:0]", "0.0.0.7", ...(LAN === undefined ? [] : [LAN])])
      expect(await act("plain.borrow", { url: `http://${host}:${port}/traces` }), host).toEqual({ code: "SVC_FETCH_ISOLATED" });
  });

  it.skipIf(skipped)("SEC-S4 with a declared network still reaches what is no daemon of ours", async () => {
    const other = createServer((_request, response) => response.end("elsewhere")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    const { act } = daemon;
    expect(await act("wired.ask", { url })).toEqual({ status: 200, text: "elsewhere" });
    if (tool !== "") expect(await act("plain.ask", { url })).toEqual({ error: expect.stringMatching(/^E/) });
    other.close();
  });

  // Its processes come back: the others have asked by then.
  it.skipIf(skipped)("SEC-S4 does not get there by asking and being gone at once", async () => {
    const { act, port, touched, status, kernel } = daemon;
    for (const name of ["plain", "wired"]) {
      await act(`${name}.flee`, { url: `http://127.0.0.1:${port}/touch/loopback` }).catch(() => undefined);
      await expect.poll(() => (status(`feature-${name}`).isolation as { ends?: number } | undefined)?.ends, { timeout: 20_000 }).toBeGreaterThan(0);
    }
    await fetch(`${baseOf(kernel)}/health`);
    expect(touched).toEqual([]);
  });
});
