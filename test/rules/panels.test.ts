import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { bearer, get, guarded, REMOTE } from "./auth.harness.ts";

const MODULE = "export const mount = (element) => { element.textContent = 'shop'; };";

/** A plugin package with panels, as it would be installed. */
async function laid(panels: readonly object[]): Promise<string> {
  const folder = join(await temporaryFolder(), "shop");
  await mkdir(join(folder, "dist/ui"), { recursive: true });
  const svc = { api: 1, kind: "feature", name: "shop", entry: "./index.mjs", activate: "always", capabilities: ["routes"] };
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "svc-plugin-shop", version: "1.0.0", type: "module", svc }));
  await writeFile(
    join(folder, "index.mjs"),
    `export default { kind: "feature", name: "shop", version: "1.0.0", svc: "*", capabilities: ["routes"],
      setup(ctx) {
        ctx.provide.files({ prefix: "/shop", folder: "dist/ui", guard: "open", server: "dashboard" });
        for (const panel of ${JSON.stringify(panels)}) ctx.provide.panel(panel);
      } };`,
  );
  await writeFile(join(folder, "dist/ui/panel.js"), MODULE);
  return folder;
}

const panel = (id: string, title: string, guard: string, place = "page") => ({ id, title, place, guard, module: "/shop/panel.js" });
const PANELS = [
  panel("orders", "Orders", "scope:dashboard:read"),
  panel("prices", "Prices", "scope:dashboard:write", "admin"),
  panel("agent", "An agent", "scope:agent:foo", "card"),
  panel("near", "Near", "loopback", "card"),
  panel("unknown", "Unknown", "scope:nobody:declares", "card"),
];

describe("panels of plugins", () => {
  it("are listed with what a page needs to show them, to those whom their guards let in", async () => {
    const at = await guarded({ config: { plugins: [await laid(PANELS)] }, dashboard: { token: "the-single-bearer" } });
    const [reads, writes, both] = await Promise.all([at.token("dashboard:read"), at.token("dashboard:write"), at.token("dashboard:read", "agent:*")]);
    const ids = async (secret: string, headers: Record<string, string> = REMOTE) => {
      const { body } = await get(at.dashboard, "/api/panels", { ...bearer(secret), ...headers });
      return (body.panels as { id: string }[]).map(({ id }) => id);
    };
    const { body } = await get(at.dashboard, "/api/panels", { ...bearer(reads.secret), ...REMOTE });
    expect(body).toEqual({ panels: [panel("orders", "Orders", "scope:dashboard:read")] });
    expect(await ids(writes.secret)).toEqual(["orders", "prices"]);
    expect(await ids(both.secret)).toEqual(["agent", "orders"]);
    expect(await ids("the-single-bearer")).toEqual(["orders", "prices"]);
    expect(await ids("the-single-bearer", {})).toEqual(["near", "orders", "prices"]);
    expect((await get(at.dashboard, "/api/panels", REMOTE)).status).toBe(401);
    expect((await get(at.dashboard, "/api/panels", bearer((await at.token("agent:foo")).secret))).status).toBe(403);
  });

  it("AUTH-12 have a module on the same server, which the content policy lets a page import", async () => {
    const at = await guarded({ config: { plugins: [await laid(PANELS)] } });
    const { body } = await get(at.dashboard, "/api/panels");
    expect(body.panels).toMatchObject([{ id: "near" }, { id: "orders", module: "/shop/panel.js" }, { id: "prices" }]);
    const [{ module }] = body.panels as [{ module: string }];
    const { status, headers, text } = await get(at.dashboard, module, REMOTE);
    expect([status, text, headers.get("content-type")]).toEqual([200, MODULE, "text/javascript; charset=utf-8"]);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const policy = (await get(at.dashboard, "/")).headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'"]));
  });

  it("are none without a plugin that has some", async () => {
    const at = await guarded();
    expect((await get(at.dashboard, "/api/panels")).body).toEqual({ panels: [] });
  });
});
