import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { keepEvidence } from "./evidence.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const complaints = new WeakMap<Page, string[]>();
/** Nothing is waited for longer: several times what the slowest page takes with the processors busy elsewhere. */
const PATIENCE_MS = 60_000;

/** Notes what a page complains of from its beginning: errors of the console, of scripts, and violations of the content policy. */
export function watch(page: Page): void {
  if (complaints.has(page)) return;
  const heard: string[] = [];
  complaints.set(page, heard);
  page.setDefaultTimeout(PATIENCE_MS);
  keepEvidence(page);
  page.on("pageerror", (error) => heard.push(`script: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !expected(message.text())) heard.push(`console: ${message.text()}`);
  });
}

/**
 * A browser says each refused request by itself, and each that a daemon was killed under: what the page makes of it is
 * the test's to see.
 */
const expected = (text: string): boolean =>
  /^Failed to load resource: (the server responded with a status of|net::ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE|INCOMPLETE))/.test(
    text,
  );

/** A page of its own, watched from its beginning. Its policy is the server's, also for what the tests bring. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context: BrowserContext = await browser.newContext({ viewport: { width: 1600, height: 1000 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  watch(page);
  return page;
}

/** No finding of axe (WCAG 2.2 AA and best practice), no violation of the policy, no error so far. */
export async function judge(page: Page): Promise<void> {
  const run = async () => {
    // Evaluated by the debugger: the policy of the page stays as it is.
    await page.evaluate(AXE);
    return page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(context: unknown, options: unknown): Promise<{ violations: Finding[] }> } };
      interface Finding {
        readonly id: string;
        readonly help: string;
        readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[];
      }
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      const { violations } = await axe.run(document, { runOnly: { type: "tag", values: tags } });
      return violations.flatMap(({ id, help, nodes }) =>
        nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${help}: ${JSON.stringify(target)} ${failureSummary ?? ""}`),
      );
    });
  };
  expect(await run()).toEqual([]);
  expect(complaints.get(page) ?? []).toEqual([]);
}
