import type { HttpReply, HttpRequest } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { createDaemons } from "./daemons.ts";
import plugin from "./index.ts";
import { createLegacyAuthority } from "./legacy-token.ts";
import type { DashboardSettings } from "./settings.ts";
import { THIS_DAEMON } from "./settings.ts";
import { createTickets } from "./tickets.ts";

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
    expect(open.registered.authorities.map(({ name }) => name)).toEqual(["dashboard.sign-in", "dashboard.tickets"]);
    await lifecycle.start?.();
    expect(open.registered.servers[0]?.open).toBe(true);
    await lifecycle.stop?.();
    expect(open.registered.servers[0]?.open).toBe(false);
    const closed = context({ token: "a-single-bearer" });
    plugin.setup(closed);
    expect(closed.registered.servers[0]?.server.localScopes).toEqual([]);
    expect(closed.registered.authorities.map(({ name }) => name)).toEqual(["dashboard.token", "dashboard.sign-in", "dashboard.tickets"]);
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

describe("tickets", () => {
  const caller = { address: "127.0.0.1", local: true, token: { id: "tok_1", name: "one", scopes: ["dashboard:read"] } };
  const asking = (authorization?: string) => ({ caller, headers: { authorization } }) as unknown as HttpRequest;
  const issue = async ({ route }: ReturnType<typeof createTickets>, bearer: string) =>
    (await route.handle(asking(`Bearer ${bearer}`), {} as HttpReply)) as { ticket: string; expiresAt: string };

  it("are good for 60 s and for one use, and stand for the token that asked", async () => {
    let now = 1_000_000;
    const tickets = createTickets(() => now);
    const { verify } = tickets.authority;
    const [one, two, late] = [await issue(tickets, "svc_live_one"), await issue(tickets, "svc_live_two"), await issue(tickets, "svc_live_one")];
    expect(new Set([one.ticket, two.ticket, late.ticket]).size).toBe(3);
    expect(one).toEqual({ ticket: expect.stringMatching(/^svc_ticket_[0-9a-f]{64}$/), expiresAt: new Date(now + 60_000).toISOString() });
    now += 59_999;
    expect(await verify(two.ticket)).toEqual({ kind: "ticket", bearer: "svc_live_two", scopes: ["dashboard:read"] });
    expect(await verify(two.ticket)).toBeUndefined();
    expect(await verify(one.ticket.replace(/.$/, (last) => (last === "0" ? "1" : "0")))).toBeUndefined();
    expect(await verify(one.ticket)).toMatchObject({ bearer: "svc_live_one" });
    now += 1;
    expect(await verify(late.ticket)).toBeUndefined();
  });

  it("of one token wait 32 at most: the oldest goes, and those of others stay", async () => {
    const tickets = createTickets();
    const other = await issue(tickets, "svc_live_other");
    const all = [];
    for (let count = 0; count < 33; count += 1) all.push((await issue(tickets, "svc_live_one")).ticket);
    const known = [];
    for (const ticket of all) known.push((await tickets.authority.verify(ticket)) !== undefined);
    expect(known).toEqual([false, ...Array.from({ length: 32 }, () => true)]);
    expect(await tickets.authority.verify(other.ticket)).toBeDefined();
  });

  it("are not given for a ticket, nor for a token that stood in the address", async () => {
    const tickets = createTickets();
    const { ticket } = await issue(tickets, "svc_live_one");
    for (const request of [asking(), asking(`Bearer ${ticket}`)])
      expect(() => tickets.route.handle(request, {} as HttpReply)).toThrow(expect.objectContaining({ code: "SVC_DASHBOARD_TICKET", status: 400 }));
  });
});
