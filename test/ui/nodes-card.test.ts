import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const node = (id: string) => ({ node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "echo" } });

describe.skipIf(NO_BROWSER !== undefined || NO_POSTGRES !== undefined)("the daemons on one store", { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  let at: Dashboard;
  let other: Dashboard;
  const rows = async (from: Dashboard) => (await from.api<{ nodes: readonly { name: string; state: string; version?: string }[] }>("GET", "/api/nodes")).nodes;
  beforeAll(async () => {
    browser = await openBrowser();
    server = await startPostgres();
    const store = server.schema();
    at = await startDashboard({ config: { ...node("workshop"), store, agents: { echo: echoAgent() } } });
    other = await startDashboard({
      config: { ...node("n2"), store, agents: { echo: echoAgent({ model: "${MODEL_OF_N2}" }), held: echoAgent() }, retention: { traceDays: 8 } },
    });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await other?.stop();
    await at?.stop();
    await server?.stop();
  });

  it("stand on the live page with what runs, what is not well, and the settings that differ; one that ends is gone", async () => {
    await expect
      .poll(async () => (await rows(at)).map(({ name, version }) => [name, version !== undefined]), { timeout: 20_000 })
      .toEqual([
        ["n2", true],
        ["workshop", true],
      ]);
    const page = await openPage(browser, { viewport: { width: 1600, height: 1000 } });
    await page.goto(`${at.url}/live`);
    const card = page.getByRole("region", { name: "Daemons on this store" });
    await card.getByText("MODEL_OF_N2").waitFor();
    expect(await card.getByRole("listitem").count()).toBe(2);
    expect(await card.textContent()).toContain("Settings differ: agents.echo, agents.held, retention.traceDays.");
    expect(await card.getByText("Settings differ").getAttribute("title")).toContain("agents.held: n2 | workshop (not set)");
    await judge(page);
    await views(page, "nodes-card", async () => {
      await card.getByText("MODEL_OF_N2").waitFor();
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
    await other.process.kill("SIGTERM");
    await expect.poll(async () => (await rows(at)).map(({ name }) => name), { timeout: 20_000 }).toEqual(["workshop"]);
    await card.waitFor({ state: "detached", timeout: 30_000 });
    await page.context().close();
  });

  it("are nothing where one daemon uses its store alone", async () => {
    const alone = await startDashboard();
    expect(await alone.api("GET", "/api/nodes")).toEqual({ nodes: [], differences: [] });
    const page = await openPage(browser);
    await page.goto(`${alone.url}/live`);
    await page.getByRole("region", { name: "Agents" }).getByText("no task yet").waitFor();
    expect(await page.getByRole("region", { name: "Daemons on this store" }).count()).toBe(0);
    await page.context().close();
    await alone.stop();
  });
});
