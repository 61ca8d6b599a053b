import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { openShell } from "../kit/svc.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const MODULE = `export const mount = (place) => { const line = document.createElement("p"); line.textContent = "drawn by the guest"; place.append(line); };`;
const GUEST = `export default { api: 1, kind: "feature", name: "guest", version: "1.0.0", svc: "*", capabilities: ["routes"], setup(ctx) {
  const server = "dashboard";
  ctx.provide.route({ server, method: "GET", path: "/guest/panel.js", guard: "open", handle: (_request, reply) => reply.send(${JSON.stringify(MODULE)}, "text/javascript; charset=utf-8") });
  ctx.provide.panel({ id: "guests", title: "Guests", place: "admin", guard: "scope:dashboard:read", module: "/guest/panel.js" });
} };`;

describe.skipIf(NO_BROWSER !== undefined)("a panel of a plugin", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });

  it("that svc plugin new feature --panel writes passes its tests, and lives in the rail, live and without a finding", async () => {
    const shell = await openShell({}, await temporaryFolder());
    expect((await shell.svc("plugin", "new", "feature", "acme", "--panel")).err).toBe("");
    const plugin = join(shell.folder, "svc-plugin-acme");
    mkdirSync(join(plugin, "node_modules/@svc"), { recursive: true });
    symlinkSync(join(ROOT, "sdk"), join(plugin, "node_modules/@svc/sdk"));
    symlinkSync(join(ROOT, "node_modules/@types"), join(plugin, "node_modules/@types"));
    execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc")], { cwd: plugin, stdio: "pipe" });
    execFileSync(process.execPath, ["--test", "dist/conformance.test.js"], { cwd: plugin, stdio: "pipe", env: { ...process.env, NODE_TEST_CONTEXT: "" } });

    const at = await startDashboard({ config: { plugins: [plugin], acme: { enabled: true, words: ["please"] } } });
    const page = await openPage(browser);
    await page.goto(`${at.url}/plugins`);
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Acme" }).click();
    await page.getByText("please: rejected 0 times").waitFor();
    await fetch(`${at.daemon}/task`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent: "echo", message: "please", context: { channel: "http", chatId: "c" } }),
    });
    await page.getByText("please: rejected 1 times").waitFor();
    await views(page, "panel", () => judge(page));
    await page.goto(`${at.url}/panels/nowhere`);
    await page.getByText("No plugin that runs now has this panel.").waitFor();
  });

  it("of the place `admin` is a tab behind the others", async () => {
    const at = await startDashboard({ config: { plugins: ["./guest.mjs"] }, files: { "guest.mjs": GUEST } });
    const page = await openPage(browser);
    await page.goto(`${at.url}/admin#agents`);
    await page.getByRole("tab", { name: "Guests" }).click();
    await page.getByText("drawn by the guest").waitFor();
    await views(page, "panel-admin", () => judge(page));
    await page.getByRole("tab", { name: "Agents" }).click();
    await page.getByText("drawn by the guest").waitFor({ state: "detached" });
  });
});
