import { link, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { bearer, guarded, REMOTE } from "./auth.harness.ts";

/** A plugin somewhere on disk that serves its folder `ui`. */
async function laid(files: object): Promise<string> {
  const folder = join(await temporaryFolder(), "shop");
  await mkdir(join(folder, "ui/deep"), { recursive: true });
  const svc = { api: 1, kind: "feature", name: "shop", entry: "./index.mjs", activate: "always", capabilities: ["routes"] };
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "svc-plugin-shop", version: "1.0.0", type: "module", svc }));
  await writeFile(
    join(folder, "index.mjs"),
    `export default { kind: "feature", name: "shop", version: "1.0.0", svc: "*", capabilities: ["routes"],
      setup(ctx) { ctx.provide.files({ prefix: "/shop", folder: "ui", guard: "open", ...${JSON.stringify(files)} }); } };`,
  );
  await writeFile(join(folder, "ui/app.js"), "let a = 1;");
  await writeFile(join(folder, "ui/deep/page.html"), "<p>hi</p>");
  await writeFile(join(folder, "ui/deep/data.bin"), Buffer.from([0, 255]));
  await writeFile(join(folder, "ui/.hidden"), "secret");
  await symlink(join(folder, "package.json"), join(folder, "ui/link.json"));
  await symlink(folder, join(folder, "ui/up"));
  await link(join(folder, "ui/app.js"), join(folder, "ui/same.js"));
  return folder;
}

describe("files that a plugin serves", () => {
  it("are those of its folder, with their types, also under a second name as package managers lay them", async () => {
    const at = await guarded({ config: { plugins: [await laid({})] } });
    const get = async (path: string) => {
      const answer = await fetch(at.daemon + path);
      return [answer.status, answer.headers.get("content-type"), await answer.text()];
    };
    expect(await get("/shop/app.js")).toEqual([200, "text/javascript; charset=utf-8", "let a = 1;"]);
    expect(await get("/shop/same.js")).toEqual([200, "text/javascript; charset=utf-8", "let a = 1;"]);
    expect(await get("/shop/deep/page.html")).toEqual([200, "text/html; charset=utf-8", "<p>hi</p>"]);
    expect((await get("/shop/deep/data.bin")).slice(0, 2)).toEqual([200, "application/octet-stream"]);
    expect(at.kernel.health().plugins.find(({ id }) => id === "feature-shop")).toMatchObject({ provides: ["files /shop"], failures: 0 });
  });

  it("FAULT-50 are nothing else: no folder, no link, no hidden name, nothing above", async () => {
    const at = await guarded({ config: { plugins: [await laid({})] } });
    for (const path of [
      "",
      "/",
      "/deep",
      "/deep/",
      "/no.js",
      "/.hidden",
      "/link.json",
      "/up/package.json",
      "/%2e%2e/package.json",
      "/deep%2F..%2F..%2Fpackage.json",
      "/..%5cpackage.json",
    ]) {
      const answer = await fetch(`${at.daemon}/shop${path}`);
      expect([path, [400, 404].includes(answer.status)]).toEqual([path, true]);
      expect(await answer.text()).not.toContain("svc-plugin-shop");
    }
  });

  it("AUTH-01 are behind their guard", async () => {
    const at = await guarded({
      config: { plugins: [await laid({ guard: "scope:dashboard:read", server: "dashboard" })] },
      dashboard: { token: "the-single-bearer" },
    });
    expect((await fetch(`${at.dashboard}/shop/app.js`, { headers: REMOTE })).status).toBe(401);
    expect((await fetch(`${at.dashboard}/shop/app.js`, { headers: bearer("the-single-bearer") })).status).toBe(200);
    expect((await fetch(`${at.daemon}/shop/app.js`)).status).toBe(404);
  });

  it.each([["../elsewhere/ui"], ["/etc"], ["."], [".."]])("a folder %s that is not its own fails the plugin, with the reason", async (folder) => {
    const at = await guarded({ config: { plugins: [await laid({ folder })] } });
    expect(at.kernel.health().plugins.find(({ id }) => id === "feature-shop")).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("must lie below the folder of its package"),
    });
  });
});
