import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

/** The colours of a style sheet, light and dark: the first two blocks that name a ground. */
function colours(path: string): readonly Readonly<Record<string, string>>[] {
  const blocks = readFileSync(join(ROOT, "plugins/features", path), "utf8").match(/\{[^{}]*--bg:[^{}]*\}/g) ?? [];
  return blocks
    .slice(0, 2)
    .map((block) => Object.fromEntries([...block.matchAll(/(--[\w-]+):\s*(#[0-9a-f]+);/g)].map(([, name = "", value = ""]) => [name, value])));
}

it("pages of calls have the dashboard's colours", () => {
  const [dashboard, calls] = [colours("dashboard/ui/tokens.css"), colours("calls/ui/page.css")];
  expect(calls).toHaveLength(2);
  for (const [at, theme] of calls.entries()) {
    expect(Object.keys(theme).length).toBeGreaterThan(10);
    expect(dashboard[at]).toMatchObject(theme);
  }
});

describe.skipIf(NO_BROWSER !== undefined)("pages of calls", () => {
  let browser: Browser;
  let at: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
    const webrtc = { enabled: true, stunServers: [], bot: { enabled: true }, ringNotify: [{ channel: "chat", chatId: "1" }] };
    at = await startDashboard({ config: { channels: { webrtc }, calls: { allow: ["echo"] } } });
  });

  it("a call that rings is shown in both themes and three widths, without a finding; its link opens once", async () => {
    const answer = await fetch(`${at.daemon}/calls`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ to: "echo" }) });
    expect(answer.status).toBe(201);
    const { url } = (await answer.json()) as { url: string };
    const page = await openPage(browser);
    await page.goto(url);
    await page.getByRole("button", { name: "Talk" }).waitFor();
    // The code is spent, and gone from the address.
    expect(new URL(page.url()).hash).toBe("");
    await views(page, "call", () => judge(page));
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);

    const late = await openPage(browser);
    await late.goto(url);
    await late.getByText("This link was used before").waitFor();
    await expect.poll(() => late.getByRole("button").count()).toBe(0);
    await views(late, "call-spent", () => judge(late));
  });

  it("a page of a call that is none says so, and offers nothing to press", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.daemon}/camera/none#nothing`);
    await page.getByText("There is no call 'none'").waitFor();
    await expect.poll(() => page.getByRole("button").count()).toBe(0);
    await views(page, "camera-none", () => judge(page));
  });
});
