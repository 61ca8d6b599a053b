import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** The Firefox that Debian packages; another one by `SVC_UI_FIREFOX`. */
const FIREFOX = process.env.SVC_UI_FIREFOX ?? "/usr/bin/firefox-esr";
const NO_FIREFOX = existsSync(FIREFOX) ? undefined : `there is no ${FIREFOX} (on Debian: apt-get install firefox-esr)`;
if (NO_FIREFOX !== undefined) console.warn(`tests of the pages in Firefox are skipped: ${NO_FIREFOX}`);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE_MS = 60_000;
const WORKFLOW = {
  name: "two-steps",
  nodes: [
    { id: "start", kind: "trigger" },
    { id: "said", kind: "set", label: "Say it", value: 1 },
  ],
  edges: [{ from: "start", to: "said" }],
};

describe.skipIf(NO_FIREFOX !== undefined)("the pages in Firefox", () => {
  let browser: Browser;
  let at: Dashboard;
  const errors: string[] = [];
  beforeAll(async () => {
    const { default: puppeteer } = await import("puppeteer-core");
    browser = await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX, headless: true, defaultViewport: { width: 1600, height: 1000 } });
    at = await startDashboard({
      token: "the-single-bearer-of-old",
      config: { workflows: { enabled: true } },
      files: { ".svc/workflows/two-steps.json": JSON.stringify(WORKFLOW) },
    });
  });
  afterAll(() => browser?.close());

  /** A page of a browser that nobody has signed in to; what it complains of is noted. */
  const open = async (): Promise<Page> => {
    errors.length = 0;
    const page = await (await browser.createBrowserContext()).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("console", (message) => message.type() === "error" && errors.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => errors.push(`script: ${error instanceof Error ? error.message : String(error)}`));
    await page.evaluateOnNewDocument(() => {
      const violations: string[] = [];
      Object.assign(globalThis, { violations });
      addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => violations.push(`${violatedDirective}: ${blockedURI}`));
    });
    return page;
  };
  const judge = async (page: Page) => {
    await page.evaluate(AXE);
    const findings = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } };
      return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
    });
    const violations = await page.evaluate(() => (globalThis as unknown as { violations: string[] }).violations);
    expect({ findings, violations, errors }).toEqual({ findings: [], violations: [], errors: [] });
  };
  const signIn = async (page: Page, path: string) => {
    await page.goto(at.url + path);
    await page.locator("dialog input[name=token]").fill(at.token as string);
    await page.locator("dialog .kit-button-primary").click();
    await page.waitForFunction(() => document.querySelector("dialog") === null);
    await page.waitForSelector(".shell-daemon .kit-presence-idle");
  };
  const says = (page: Page, selector: string, text: string) =>
    page.waitForFunction((where, words) => [...document.querySelectorAll(where)].some((one) => one.textContent?.includes(words)), {}, selector, text);

  it("a person signs in, and what happens arrives over the stream without a reload", async () => {
    const page = await open();
    await signIn(page, "/live");
    await says(page, "#page", "Nothing runs.");
    await at.api("POST", "/api/chat/echo", { text: "heard in Firefox", chat: "test" });
    await says(page, ".live-ended-list", "heard in Firefox");
    await says(page, ".live-events", "task:completed");
    await judge(page);
  });

  it("an agent answers in the chat", async () => {
    const page = await open();
    await signIn(page, "/live?chat=echo");
    await page.locator("#live-composer").click();
    await page.keyboard.type("does it answer here?");
    await page.keyboard.press("Enter");
    await says(page, ".live-turn .live-prose", "does it answer here?");
    await says(page, "[role=status]", "Echo has answered.");
    await judge(page);
  });

  it("the editor opens with the graph of a workflow, and its form at a click", async () => {
    const page = await open();
    await signIn(page, "/workflows/editor?id=two-steps");
    await page.locator('.react-flow__node[data-id="said"]').click();
    await says(page, "h2", "Say it");
    await judge(page);
  });

  it("a strict policy holds: what a page brings in line is not run", async () => {
    const page = await open();
    await signIn(page, "/tasks");
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "document.body.dataset.ran = 'yes'";
      document.body.append(script);
    });
    await page.waitForFunction(() => (globalThis as unknown as { violations: string[] }).violations.length > 0);
    expect(await page.evaluate(() => document.body.dataset.ran)).toBeUndefined();
  });
});
