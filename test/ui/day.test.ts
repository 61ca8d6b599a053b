import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import { svcIn } from "../rules/auth.harness.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

const TOKEN = "glpat-CANARY-token-of-a-day";
const APP = "group/app";
describe.skipIf(NO_BROWSER !== undefined)("a person's day", () => {
  let browser: Browser;
  let far: ForgeA;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    far = await startForgeA();
    far.addUser("ada");
    far.addUser("svc", { bot: true });
    far.addToken(TOKEN, "svc");
    far.addProject(APP, {
      private: true,
      members: { ada: "write", svc: "write" },
      labels: ["status::todo", "status::doing", "status::on-hold", "status::review"],
    });
    far.open("ada", APP, "issue", { title: "Retry-After as a date is ignored", labels: ["status::todo"] });
    at = await startDashboard({
      begin: async (folder) => {
        // As the README says it: an empty folder, two commands.
        expect(readdirSync(folder)).toEqual([]);
        for (const command of [
          ["init", "--tier", "local"],
          ["config", "set", "dashboard.enabled", "true"],
        ])
          expect(await svcIn(folder, command)).toMatchObject({ code: 0 });
        // What a test adds: ports that are free, a forge on this machine, features that the day uses.
        const file = join(folder, "svc.json");
        const { node, ...rest } = JSON.parse(readFileSync(file, "utf8")) as { node: object };
        const more = {
          node: { ...node, bind: "127.0.0.1:0" },
          dashboard: { enabled: true, port: 0 },
          workflows: { enabled: true },
          metrics: { enabled: true },
          channels: { forge_a: { enabled: true, host: far.url, webhookPort: 0, webhookSecret: "a-secret-of-hooks", token: TOKEN } },
          boards: [{ id: "team", name: "Team", source: { type: "forge_a", projects: [APP] } }],
        };
        writeFileSync(file, JSON.stringify({ ...rest, ...more }, null, 2));
      },
    });
    page = await openPage(browser);
    return async () => {
      await page.context().close();
      await at.stop();
      await far.close();
    };
  });
  const written = () => JSON.parse(readFileSync(join(at.folder, "svc.json"), "utf8")) as Record<string, Record<string, unknown>>;
  const go = (path: string) => page.goto(at.url + path);
  const ready = (name: RegExp | string) =>
    page.getByRole("dialog").getByRole("button", { name }).and(page.locator(":not([aria-busy])")).and(page.locator(":not([aria-disabled])"));
  const saveAll = async () => {
    await page.getByRole("button", { name: /Review and save/ }).click();
    await ready(/Save and reload/).click();
    await page
      .getByText(/^Saved\./)
      .first()
      .waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  const middle = async (selector: string) => {
    const box = await page.locator(selector).first().boundingBox();
    if (box === null) throw new Error(`${selector} is not in sight`);
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  };
  const drag = async (from: { x: number; y: number }, to: { x: number; y: number }) => {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 4 });
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
  };
  const runOf = async (workflow: string, start: () => Promise<void>): Promise<string> => {
    const answer = page.waitForResponse((response) => response.url().endsWith(`/workflows/${workflow}/run`));
    await start();
    return ((await (await answer).json()) as { runId: string }).runId;
  };
  const ended = (run: string) => expect.poll(async () => (await at.api<{ status: string }>("GET", `/api/workflows/runs/${run}`)).status, { timeout: 60_000 });

  it("begins with an empty folder, and ends with everything in its place", async () => {
    // Setup: an engine, an agent of one's own, a real answer.
    await go("/setup");
    await page.getByRole("radio", { name: /built-in tier local/ }).check();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByLabel("Id").fill("helper");
    await page.getByLabel("Name").fill("Helper");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("Only this page").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("heading", { name: "Its answer" }).waitFor();
    expect(written()).toMatchObject({ agents: { helper: { tier: "local" } } });

    // A chat in the browser.
    await go("/live?chat=helper");
    const box = page.getByRole("textbox", { name: "Message to Helper" });
    await box.fill("what is in the workspace?");
    await box.press("Enter");
    await page.locator(".live-turn .live-prose").first().waitFor();

    // A card moved, at the far end too.
    await go("/");
    const card = page.locator(`[data-card="${APP}#1"]`);
    await card.focus();
    await page.keyboard.press("3");
    const labels = () => far.state.projects.find(({ path }) => path === APP)?.items.get("issue:1")?.labels;
    await expect.poll(labels, { timeout: 30_000 }).toContain("status::doing");

    // A workflow drawn by mouse, saved and run.
    await go("/workflows/editor?new=blank");
    await page.locator(".react-flow__node[data-id=start]").waitFor();
    const [start, done] = [await middle(".react-flow__node[data-id=start]"), await middle(".react-flow__node[data-id=done]")];
    const port = (id: string, name: string) => `.react-flow__node[data-id="${id}"] .react-flow__handle[data-handleid="${name}"]`;
    const entry = (id: string) => `.react-flow__node[data-id="${id}"] .react-flow__handle-left`;
    const node = (id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
    const field = (path: string) => page.locator(`[data-path="${path}"]`);
    await drag(await middle(".editor-kind:has-text('userTask')"), { x: start.x, y: start.y + 180 });
    await node("userTask").waitFor();
    await drag(await middle(".editor-kind:has-text('approval')"), { x: done.x, y: done.y + 180 });
    await node("approval").waitFor();
    await drag(await middle(port("start", "out")), await middle(entry("userTask")));
    await drag(await middle(port("userTask", "out")), await middle(entry("approval")));
    await drag(await middle(port("approval", "approve")), await middle(entry("done")));
    await node("start").click();
    await page.getByRole("button", { name: "Remove the edge to done" }).click();
    await node("approval").click();
    await field("title").getByRole("textbox").fill("Publish it?");
    await field("assignee").getByRole("textbox").fill("actor:ada");
    await node("userTask").click();
    await field("title").getByRole("textbox").fill("Name the release");
    await field("assignee").getByRole("textbox").fill("actor:ada");
    await field("form").getByRole("button", { name: "Add an entry" }).click();
    await field("form").getByLabel("Name", { exact: true }).fill("title");
    await field("form").getByLabel("Label", { exact: true }).fill("Headline");
    await page.locator(".editor-middle").getByText("Nothing is wrong with it.").first().waitFor();
    await page.getByRole("button", { name: "Save..." }).click();
    await page.getByRole("dialog").getByLabel("Id").fill("release");
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL(/id=release/);
    await page.getByRole("button", { name: "Run...", exact: true }).click();
    const run = await runOf("release", () => page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click());

    // It waits for a person: its task filled in, then its approval answered.
    await go("/inbox?view=all");
    const requests = page.getByRole("grid", { name: "Requests" });
    await requests.getByRole("row").filter({ hasText: "Name the release" }).click();
    await page.getByLabel("Headline").fill("The winter release");
    await page.locator(".inbox-answers").getByRole("button").first().click();
    await requests.getByRole("row").filter({ hasText: "Publish it?" }).click();
    await page.locator(".inbox-answers").getByRole("button", { name: "Approve" }).click();
    await ended(run).toBe("completed");
    const steps = JSON.stringify(await at.api("GET", `/api/workflows/runs/${run}`));
    expect(steps).toContain("The winter release");

    // A schedule made.
    await go("/admin#schedules");
    await page.getByRole("button", { name: "Add a schedule" }).click();
    await page.getByRole("dialog").getByLabel("Id").fill("morning");
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await page.getByLabel("Prompt").fill("Say good morning");
    await page.getByRole("switch", { name: "Enabled" }).click();
    await saveAll();
    expect(written()["crons"]).toMatchObject({ morning: { agent: "assistant", prompt: "Say good morning", enabled: true } });
    await page.locator(".admin-moment").first().waitFor();

    // A broken value refused at its place.
    await page.getByLabel("Schedule", { exact: true }).fill("every now and then");
    await page.getByLabel("Schedule", { exact: true }).blur();
    await page.locator('[data-path="crons.morning.schedule"] .form-error').waitFor();
    await page.getByRole("button", { name: "Discard" }).click();

    // A token made and revoked.
    await go("/admin#tokens");
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("the wall");
    await page
      .getByRole("dialog")
      .getByRole("checkbox", { name: /dashboard:read/ })
      .check();
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    const secret = await page.locator(".admin-secret-shown").textContent();
    await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Close, it is copied" }).click();
    const asked = () => fetch(`${at.url}/api/agents`, { headers: { authorization: `Bearer ${secret}` } });
    expect((await asked()).status).toBe(200);
    await page.getByRole("button", { name: "Revoke the wall" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("cell", { name: "revoked" }).waitFor();
    expect((await asked()).status).toBe(401);

    // A plugin switched off.
    await go("/plugins?plugin=feature-metrics");
    await page.getByRole("button", { name: "Switch off" }).click();
    await ready("Switch off").click();
    await page.getByText("feature-metrics is switched off.").waitFor();
    expect(written()["metrics"]).toEqual({ enabled: false });
    await judge(page);
  }, 300_000);
});
