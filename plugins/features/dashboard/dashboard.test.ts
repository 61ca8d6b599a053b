import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { createDaemons } from "./daemons.ts";
import plugin from "./index.ts";
import { createLegacyAuthority } from "./legacy-token.ts";
import type { DashboardSettings } from "./settings.ts";
import { THIS_DAEMON } from "./settings.ts";

const settings = (more: Partial<DashboardSettings> = {}): DashboardSettings => ({
  enabled: true,
  port: 4202,
  bind: "127.0.0.1",
  daemonUrl: THIS_DAEMON,
  daemons: [],
  ...more,
});
const context = (more: Partial<DashboardSettings> = {}) =>
  createFakeContext<DashboardSettings>(plugin, { config: settings(more), fetch: async () => Promise.reject(new Error("nobody")) });

describe("setup", () => {
  it("provides one server, opened at start and closed at stop, and gives loopback its scopes only without a single token", async () => {
    const open = context();
    const lifecycle = plugin.setup(open) ?? {};
    expect(open.registered.servers).toMatchObject([
      { server: { name: "dashboard", host: "127.0.0.1", port: 4202, localScopes: ["dashboard:write"] }, open: false },
    ]);
    expect(open.registered.authorities).toEqual([]);
    await lifecycle.start?.();
    expect(open.registered.servers[0]?.open).toBe(true);
    await lifecycle.stop?.();
    expect(open.registered.servers[0]?.open).toBe(false);
    const closed = context({ token: "a-single-bearer" });
    plugin.setup(closed);
    expect(closed.registered.servers[0]?.server.localScopes).toEqual([]);
    expect(closed.registered.authorities).toHaveLength(1);
  });

  it.each([
    ["0.0.0.0", true],
    ["192.0.2.1", true],
    ["::", true],
    ["127.0.0.1", false],
    ["127.1.2.3", false],
    ["localhost", false],
    ["::1", false],
  ])("AUTH-13 warns at start of bind %s without a token: %s", async (bind, warns) => {
    const ctx = context({ bind });
    await plugin.setup(ctx)?.start?.();
    expect(ctx.logged.some(({ level }) => level === "warn")).toBe(warns);
    const safe = context({ bind, token: "a-single-bearer" });
    await plugin.setup(safe)?.start?.();
    expect(safe.logged).toEqual([]);
  });
});

describe("the daemons", () => {
  it("by default it is the one it runs in; another address is asked over HTTP under the name of its entry", () => {
    expect(createDaemons(context()).main.name).toBe("test");
    expect(createDaemons(context({ daemonUrl: `${THIS_DAEMON}/` })).main.name).toBe("test");
    const far = { name: "far", url: "http://192.0.2.1:18800/" };
    const { main, all } = createDaemons(context({ daemonUrl: "http://192.0.2.1:18800", daemons: [far, { name: "near", url: "http://192.0.2.2:1" }] }));
    expect([main.name, all.map(({ name }) => name)]).toEqual(["far", ["far", "near"]]);
  });
});

it("AUTH-10 the single token is worth dashboard:write, and nothing outside of that family", async () => {
  const { verify } = createLegacyAuthority("a-single-bearer");
  expect(await verify("a-single-bearer")).toMatchObject({ scopes: ["dashboard:write"], family: "dashboard" });
  for (const other of ["", "a-single-beare", "a-single-bearer ", "A-SINGLE-BEARER"]) expect(await verify(other)).toBeUndefined();
});
