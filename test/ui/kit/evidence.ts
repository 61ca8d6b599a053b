import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, TestRunner } from "vitest";

/** A page that said more than this is told by its last lines. */
const MOST_LINES = 500;

interface Watched {
  readonly page: Page;
  readonly lines: string[];
  /** Opened by a test itself: it goes with it. */
  readonly ofTest: boolean;
}

const watched = new Set<Watched>();

/** Notes what a page says and asks for, so that a failed test can show it; what a test opened is closed at its end. */
export function keepEvidence(page: Page): void {
  const one: Watched = { page, lines: [], ofTest: TestRunner.getCurrentTest() !== undefined };
  const started = Date.now();
  const note = (line: string) => {
    one.lines.push(`${String(Date.now() - started).padStart(7)} ms  ${line}`);
    if (one.lines.length > MOST_LINES) one.lines.shift();
  };
  watched.add(one);
  page.on("console", (message) => note(`console.${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => note(`script: ${error.stack ?? error.message}`));
  page.on("request", (request) => note(`> ${request.method()} ${request.url()}`));
  page.on("response", (response) => note(`< ${response.status()} ${response.request().method()} ${response.url()}`));
  page.on("requestfailed", (request) => note(`! ${request.method()} ${request.url()} ${request.failure()?.errorText ?? ""}`));
  page.on("framenavigated", (frame) => frame === page.mainFrame() && note(`at ${frame.url()}`));
  page.on("close", () => watched.delete(one));
}

async function shown({ page, lines }: Watched, name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "svc-ui-failed-"));
  writeFileSync(join(folder, `${name}.log`), `${page.url()}\n${lines.join("\n")}\n`);
  const picture = join(folder, `${name}.png`);
  const taken = await page.screenshot({ path: picture, timeout: 10_000 }).then(
    () => picture,
    (error: Error) => `no picture (${error.message.split("\n")[0]})`,
  );
  return `${page.url()}: ${taken}, ${join(folder, `${name}.log`)}`;
}

// A hook that is asked for within another one is not heard: this one is the file's.
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") {
    const name = task.name.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60);
    const places = await Promise.all([...watched].map((one) => shown(one, name)));
    const last = task.result.errors?.at(-1);
    if (last !== undefined && places.length > 0) last.message = `${last.message}\nWhat the pages showed and said:\n  ${places.join("\n  ")}`;
  }
  await Promise.all([...watched].filter(({ ofTest }) => ofTest).map(({ page }) => page.context().close()));
});
