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

/** What axe says of the same document in other colours; everything else follows from the document and its size alone. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];
/** The documents that every rule has judged, by page. */
const judged = new WeakMap<Page, Set<string>>();

/**
 * No finding of axe (WCAG 2.2 AA and best practice), no violation of the policy, no error so far. A document that was judged at this size
 * is judged again, such as in the other theme, only by the rules that depend on colours.
 */
export async function judge(page: Page): Promise<void> {
  const known = judged.get(page) ?? new Set();
  judged.set(page, known);
  // Evaluated by the debugger: the policy of the page stays as it is.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const { document: seen, findings } = await page.evaluate(
    async ({ ofColours, known }) => {
      const { axe } = globalThis as unknown as { axe: { run(context: unknown, options: unknown): Promise<{ violations: Finding[] }> } };
      interface Finding {
        readonly id: string;
        readonly help: string;
        readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[];
      }
      const bytes = new TextEncoder().encode(`${location} ${innerWidth} ${innerHeight} ${document.documentElement.outerHTML}`);
      // Pages of another machine's address have no `crypto.subtle`: a sum of 52 bits.
      let sum = 7;
      for (const byte of bytes) sum = (sum * 31 + byte) % 4_503_599_627_370_449;
      const signature = `${bytes.length} ${sum}`;
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      const runOnly = known.includes(signature) ? { type: "rule", values: ofColours } : { type: "tag", values: tags };
      const { violations } = await axe.run(document, { runOnly, resultTypes: ["violations"], preload: false });
      const findings = violations.flatMap(({ id, help, nodes }) =>
        nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${help}: ${JSON.stringify(target)} ${failureSummary ?? ""}`),
      );
      return { document: signature, findings };
    },
    { ofColours: OF_COLOURS, known: [...known] },
  );
  expect(findings).toEqual([]);
  known.add(seen);
  expectQuiet(page);
}

/** The page has complained of nothing so far: no violation of the policy, no error. */
export function expectQuiet(page: Page): void {
  expect(complaints.get(page) ?? []).toEqual([]);
}
