import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launch } from "../faults/daemon.harness.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const LITERAL = "CANARY-work-secret-0000001";
/** Takes the whole daemon with it, until somebody has mended it. */
const CRASHER = `import { existsSync } from "node:fs";
export default { api: 1, kind: "feature", name: "crasher", version: "1.0.0", svc: "*", capabilities: [], setup() {
  if (!existsSync(new URL("./mended", import.meta.url))) process.kill(process.pid, "SIGKILL");
} };`;
const pending = (action: string) => ({
  schedule: "0 9 * * 1-5",
  agent: "echo",
  prompt: "Good morning",
  enabled: true,
  approval: { action, requestedBy: "echo", requestedAt: "2026-01-05T09:00:00.000Z" },
});

describe.skipIf(NO_BROWSER)("what a person decides in the administration", () => {
  let browser: Browser;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  const begin = async (options: Parameters<typeof startDashboard>[0]) => {
    at = await startDashboard(options);
    page = await openPage(browser);
  };
  beforeEach(() => async () => {
    await page?.context().close();
    await at?.stop();
  });
  const file = () => readFileSync(join(at.folder, "svc.json"), "utf8");
  const written = () => JSON.parse(file()) as Record<string, Record<string, unknown>>;

  it("FAULT-64 a plugin that took the daemon with it stands in quarantine with its reason, and runs once it is lifted", async () => {
    await begin({
      config: { plugins: ["./crasher.mjs"] },
      files: { "crasher.mjs": CRASHER },
      prepare: async (folder) => {
        expect(await launch(folder).ended).toBe("SIGKILL");
      },
    });
    await page.goto(`${at.url}/plugins`);
    await page.getByRole("radio", { name: /In trouble/ }).click();
    await page.getByRole("button", { name: /crasher/ }).click();
    const reason = page.locator(".plugins-reason").first();
    await reason.waitFor();
    await expect.poll(() => reason.textContent()).toMatch(/quarantine|died|crash/i);
    writeFileSync(join(at.folder, "mended"), "");
    await page.getByRole("button", { name: "Lift" }).click();
    const dialog = page.getByRole("dialog");
    await judge(page);
    await dialog.getByRole("button", { name: "Lift" }).click();
    await page
      .getByText(/is loaded again/)
      .first()
      .waitFor();
    await expect
      .poll(
        async () =>
          (await at.api<{ plugins: { id: string; state: string }[] }>("GET", "/api/admin/plugins")).plugins.find(({ id }) => id === "feature-crasher")?.state,
      )
      .toBe("running");
    await page.locator(".plugins-reason").waitFor({ state: "detached" });
  });

  it("CRON-03 a schedule that waits is let run or refused at its tab, once", async () => {
    await begin({ config: { crons: { morning: pending("create"), evening: pending("create"), noon: pending("delete") } } });
    await page.goto(`${at.url}/admin#schedules/morning`);
    await page.getByText("echo made it and asks to let it run.").waitFor();
    await views(page, "approval", () => judge(page));
    await page.getByRole("button", { name: "Let it run" }).click();
    await page.getByText("morning runs by its schedule.").waitFor();
    await page.locator(".admin-moment").first().waitFor();
    expect(written()["crons"]?.["morning"]).not.toHaveProperty("approval");
    await page.goto(`${at.url}/admin#schedules/evening`);
    await page.getByRole("button", { name: "Refuse and remove it..." }).click();
    const asks = page.getByRole("dialog", { name: "Remove the schedule evening?" });
    await views(page, "refuse", () => judge(page));
    await asks.getByRole("button", { name: "Cancel" }).click();
    await asks.waitFor({ state: "detached" });
    expect(Object.keys(written()["crons"] ?? {})).toEqual(["morning", "evening", "noon"]);
    await page.getByRole("button", { name: "Refuse and remove it..." }).click();
    await asks.getByRole("button", { name: "Refuse and remove it" }).click();
    await page.getByText("evening is taken out.").waitFor();
    expect(Object.keys(written()["crons"] ?? {})).toEqual(["morning", "noon"]);
    await page.goto(`${at.url}/admin#schedules/noon`);
    await page.getByText("echo asks to delete it.", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByText("noon runs by its schedule.").waitFor();
    expect(written()["crons"]?.["noon"]).not.toHaveProperty("approval");
    await expect(at.api("POST", "/api/admin/schedules/noon/decide", { approved: true })).rejects.toThrow("409");
    await expect(at.api("POST", "/api/admin/schedules/nothing/decide", { approved: true })).rejects.toThrow("404");
  });

  it("the tab of the mesh announces to this daemon and those that follow it", async () => {
    await begin({ config: { mesh: { enabled: true, peers: [] } } });
    await page.goto(`${at.url}/admin#mesh/mesh-settings`);
    const text = page.getByRole("textbox", { name: "Announce" });
    await text.fill("the garden is watered");
    await judge(page);
    await page.keyboard.press("Enter");
    await page.getByText("It is announced.").waitFor();
    await page.goto(`${at.url}/live`);
    await page.getByText("the garden is watered").first().waitFor();
    await expect(at.api("POST", "/api/admin/mesh/announce", { text: "x".repeat(2_001) })).rejects.toThrow("400");
  });

  it("CFG-06 CFG-07 the document is typed in as text: what is wrong stands at its line, and only what was changed is written", async () => {
    await begin({ config: { agents: { echo: echoAgent({ maxExecutionMinutes: 30 }) }, providers: { main: { apiKey: LITERAL } } } });
    const before = file();
    await page.goto(`${at.url}/admin#advanced/document`);
    await page.getByRole("button", { name: "Edit" }).click();
    const text = page.getByRole("textbox", { name: "svc.json" });
    const shown = await text.inputValue();
    expect(shown).toContain('"apiKey": "***"');
    const line = shown.split("\n").findIndex((one) => one.includes("maxExecutionMinutes")) + 1;
    // No JSON: said at its line, and nothing can be saved.
    await text.fill(shown.replace('"maxExecutionMinutes": 30', '"maxExecutionMinutes": thirty'));
    await page.getByRole("button", { name: new RegExp(`^line ${line}:`) }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: /Review and save/ }).getAttribute("aria-disabled")).toBe("true");
    // JSON that the daemon would refuse: its words, at the line as it is typed.
    await text.fill(`// a note\n${shown.replace('"maxExecutionMinutes": 30', '"maxExecutionMinutes": "thirty"')}`);
    await page.getByRole("button", { name: `line ${line + 1}` }).waitFor();
    await page.locator(`.admin-text-gutter .admin-text-error[data-line="${line + 1}"]`).waitFor();
    await views(page, "document-edit", () => judge(page));
    await text.fill(shown.replace('"maxExecutionMinutes": 30', '"maxExecutionMinutes": 33'));
    await page.getByRole("button", { name: /Review and save/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText('"maxExecutionMinutes": 33').first().waitFor();
    await dialog
      .getByRole("button", { name: /Save and reload/ })
      .and(page.locator(":not([aria-busy])"))
      .click();
    await page.getByText("Saved. In force now.").waitFor();
    expect(file()).toBe(before.replace('"maxExecutionMinutes": 30', '"maxExecutionMinutes": 33'));
    await expect.poll(() => text.inputValue()).toContain('"maxExecutionMinutes": 33');
    expect(await page.content()).not.toContain(LITERAL);
  });

  it("CFG-07 a check that is answered while its changes are being saved does not undo them", async () => {
    await begin({ config: { agents: { echo: echoAgent({ maxExecutionMinutes: 30 }) } } });
    let saved = () => {};
    const whileSaved = new Promise<void>((resolve) => {
      saved = resolve;
    });
    let refused = (_status: number) => {};
    const refusal = new Promise<number>((resolve) => {
      refused = resolve;
    });
    let checks = 0;
    await page.route("**/api/admin/settings/check", async (route) => {
      checks += 1;
      if (checks > 1) return route.continue();
      await whileSaved;
      const answer = await route.fetch();
      await route.fulfill({ response: answer });
      refused(answer.status());
    });
    await page.route("**/api/admin/settings", async (route) => {
      if (route.request().method() !== "PATCH") return route.continue();
      const answer = await route.fetch();
      saved();
      expect(await refusal).toBe(409);
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
      await route.fulfill({ response: answer });
    });
    await page.goto(`${at.url}/admin#advanced/document`);
    await page.getByRole("button", { name: "Edit" }).click();
    const text = page.getByRole("textbox", { name: "svc.json" });
    await text.fill((await text.inputValue()).replace('"maxExecutionMinutes": 30', '"maxExecutionMinutes": 33'));
    await expect.poll(() => checks).toBe(1);
    await page.getByRole("button", { name: /Review and save/ }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /Save and reload/ })
      .and(page.locator(":not([aria-busy])"))
      .click();
    await page.getByText("Saved. In force now.").waitFor();
    await expect.poll(() => text.inputValue()).toContain('"maxExecutionMinutes": 33');
    await expect.poll(() => page.getByRole("button", { name: /Review and save/ }).count()).toBe(0);
    expect(file()).toContain('"maxExecutionMinutes": 33');
  });
});
