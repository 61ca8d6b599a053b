import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RootLog } from "../base/log.ts";
import { createScope, disposeScope, type Scope } from "../core/host/scope.ts";
import { rawExchange, recordingLog, SCOPES } from "./http.harness.ts";
import { createServers, type Servers } from "./plugin-servers.ts";

const AT = { name: "board", host: "127.0.0.1", port: 0, headers: { "x-ours": "1" } };
let scope: Scope;
let servers: Servers;
const make = (listen: boolean) => {
  const log = { ...recordingLog(), flush() {}, reopen() {}, child: (): RootLog => log };
  const hello = { server: "board", method: "GET", path: "/hello", guard: "open", owner: "feature-board", handle: () => ({ hello: true }) } as const;
  return createServers({
    listen,
    reach: { served: (host) => ({ hosts: () => [host(), "board.example"] }) },
    routes: () => [hello, { ...hello, server: "other", path: "/other" }],
    authorities: () => [],
    scopes: SCOPES,
    isIsolated: () => false,
    isChild: async () => false,
    log,
  });
};

beforeEach(() => {
  scope = createScope("feature-board", () => {});
  servers = make(true);
});
afterEach(() => void disposeScope(scope));

describe("a provided server", () => {
  it("serves the routes that name it, and no others, from its listen to its close", async () => {
    const handle = servers.provide(scope, AT);
    expect(servers.addresses()).toEqual([]);
    const at = await handle.listen();
    expect(servers.addresses()).toEqual([{ name: "board", ...at }]);
    const answer = await fetch(`http://127.0.0.1:${at?.port}/hello`);
    expect([await answer.json(), answer.headers.get("x-ours")]).toEqual([{ hello: true }, "1"]);
    expect((await fetch(`http://127.0.0.1:${at?.port}/other`)).status).toBe(404);
    await handle.close();
    await handle.close();
    expect(servers.addresses()).toEqual([]);
    await expect(fetch(`http://127.0.0.1:${at?.port}/hello`)).rejects.toThrow();
  });

  it("SEC-S2 refuses headers without end, and answers to the names of the node", async () => {
    const at = await servers.provide(scope, AT).listen();
    const ask = async (headers: string) => (await rawExchange(at?.port as number, `GET /hello HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`)).status;
    expect(await ask(`Host: localhost\r\n${"a:\r\n".repeat(998)}Origin: http://evil.example`)).toBe(431);
    expect(await ask("Host: board.example")).toBe(200);
    expect(await ask("Host: other.example")).toBe(403);
  });

  it("says which address it could not have and why, and can be closed and opened elsewhere", async () => {
    const at = await servers.provide(scope, AT).listen();
    const other = make(true);
    const taken = other.provide(
      createScope("feature-late", () => {}),
      { ...AT, port: at?.port as number },
    );
    await expect(taken.listen()).rejects.toMatchObject({ code: "SVC_SERVER_PORT", message: expect.stringMatching(`127.0.0.1:${at?.port}.*another program`) });
    await taken.close();
    const free = other.provide(scope, AT);
    expect((await free.listen())?.port).toBeGreaterThan(0);
    await free.close();
  });

  it("ends with its plugin, and opens no port for one that was given up while it was made", async () => {
    await servers.provide(scope, AT).listen();
    disposeScope(scope);
    expect(servers.find("board")).toBeUndefined();
    const late = createScope("feature-late", () => {});
    const listening = servers.provide(late, { ...AT, name: "late" }).listen();
    disposeScope(late);
    expect(await listening).toBeUndefined();
    expect(servers.addresses().map(({ name }) => name)).not.toContain("late");
  });

  it("cannot take the name of the kernel's own", () => {
    expect(() => servers.provide(scope, { ...AT, name: "daemon" })).toThrow(expect.objectContaining({ code: "SVC_PLUGIN_NAME_TAKEN" }));
  });

  it("opens no port where none may be opened, and keeps what is mounted over a new setup", async () => {
    const embedded = make(false);
    const first = embedded.provide(scope, AT);
    expect(await first.listen()).toBeUndefined();
    const mounted = embedded.find("board");
    expect(mounted?.routes()).toMatchObject([{ path: "/hello" }]);
    await first.close();
    expect([embedded.find("board"), mounted?.routes()]).toEqual([undefined, []]);
    await embedded.provide(scope, AT).listen();
    expect(embedded.find("board")).toBe(mounted);
    expect(mounted?.routes()).toMatchObject([{ path: "/hello" }]);
  });
});
