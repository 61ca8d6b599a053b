import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { openPage } from "./kit/judge.ts";
import { AGENTS, pastDays } from "./kit/past-days.ts";
import { shots } from "./kit/views.ts";

/** Where the README's pictures go: `npm run screenshots` says `docs/images`; other runs leave those as they are. */
const FOLDER = process.env.SVC_UI_PICTURES ?? shots();
const SIZE = { width: 1280, height: 800 };

const example = (name: string) => readFileSync(new URL(`../../plugins/features/workflows/examples/${name}/workflow.yaml`, import.meta.url), "utf8");
const RELEASE = {
  name: "review-and-release",
  nodes: [
    { id: "start", kind: "trigger", inputSchema: { change: { type: "string", default: "!4182" } } },
    { id: "check", kind: "branch", label: "Is it mergeable?", cases: [{ port: "mergeable", when: "{{ true }}" }] },
    { id: "notes", kind: "set", label: "Write the notes", value: "Retries wait for what the server says. 12 changes by 4 people." },
    { id: "ask", kind: "set", label: "Ask the author", value: 1 },
    {
      id: "approve",
      kind: "userTask",
      label: "Approve the notes",
      title: "Approve the notes of release 2.14",
      detail: "{{ in }}",
      assignee: "actor:anna",
      timeout: "3d",
      form: [{ name: "comment", kind: "long-text", label: "What to change" }],
    },
    { id: "tell", kind: "action", label: "Tell the team", action: "file.read_lines", input: { path: "gone/team.txt" } },
  ],
  edges: [
    { from: "start", to: "check" },
    { from: "check", fromPort: "mergeable", to: "notes" },
    { from: "check", fromPort: "else", to: "ask" },
    { from: "notes", to: "approve" },
    { from: "approve", to: "tell" },
  ],
};
const FAILS = {
  ...RELEASE,
  name: "nightly-report",
  nodes: RELEASE.nodes.filter(({ id }) => id !== "approve"),
  edges: [...RELEASE.edges.slice(0, 3), { from: "notes", to: "tell" }],
};

describe.skipIf(NO_BROWSER !== undefined)("the pictures of the README", () => {
  let browser: Browser;
  let at: Dashboard;
  const run = async (workflow: string) => (await at.api<{ runId: string }>("POST", `/workflows/${workflow}/run`, { payload: {} })).runId;
  const open = async (path: string, theme: "light" | "dark"): Promise<Page> => {
    const page = await openPage(browser, { viewport: SIZE, colorScheme: theme });
    await page.goto(at.url + path);
    // What comes later than the page itself: who it is, and that it hears what happens.
    await page.locator('.shell-daemon .kit-presence[title="connected"]').first().waitFor({ state: "attached" });
    return page;
  };
  const take = async (page: Page, name: string) => {
    const path = join(FOLDER, `${name}.png`);
    mkdirSync(FOLDER, { recursive: true });
    await page.screenshot({ path });
    expect(statSync(path).size).toBeGreaterThan(20_000);
  };
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: {
        agents: AGENTS,
        node: { id: "workshop", name: "workshop", bind: "127.0.0.1:0", defaultAgent: "reviewer" },
        workflows: { enabled: true },
      },
      files: {
        ".svc/workflows/review-and-release.json": JSON.stringify(RELEASE),
        ".svc/workflows/nightly-report.json": JSON.stringify(FAILS),
        ".svc/workflows/review.yaml": example("review"),
      },
      prepare: async (folder) => void (await pastDays(folder, 400)),
    });
  });

  it("live: what happens now", async () => {
    await at.api("POST", "/api/chat/held", {
      text: "@reviewer please look at the retry logic again: it waits far too long when the server says otherwise",
      chat: "picture",
    });
    const page = await open("/live", "light");
    await page.getByText(/of \d+ slots/).waitFor();
    await page.getByText(/\d+ in the last hour/).waitFor();
    await page.getByText("Still reading", { exact: false }).waitFor({ state: "detached" });
    await take(page, "live");
  });

  it("processes: where a run failed, and with what input", async () => {
    const id = await run("nightly-report");
    await vi.waitFor(async () => expect((await at.api<{ status: string }>("GET", `/api/workflows/runs/${id}`)).status).toBe("failed"), { timeout: 60_000 });
    const page = await open(`/processes?run=${id}`, "dark");
    await page.locator(".processes-error").waitFor();
    await page.locator('.react-flow__node[data-id="tell"]').waitFor();
    await take(page, "processes");
  });

  it("editor: a workflow drawn, its form beside it", async () => {
    const page = await open("/workflows/editor?id=review-and-release", "light");
    await page.getByRole("button", { name: "Fit" }).click();
    await page.locator('.react-flow__node[data-id="approve"]').click();
    await page.getByRole("heading", { name: "Approve the notes" }).waitFor();
    // As large as its names can be read.
    const facts = page.locator('.react-flow__node[data-id="approve"] .graph-node-facts');
    if (!(await facts.isVisible())) await page.getByRole("button", { name: "Larger" }).click();
    await facts.waitFor();
    await take(page, "editor");
  });

  it("inbox: what waits for a person", async () => {
    await run("review-and-release");
    const page = await open("/inbox", "dark");
    await page.getByText("Approve the notes of release 2.14").first().waitFor();
    await take(page, "inbox");
  });
});
