import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDaemon } from "../faults/daemon.harness.ts";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const TOKEN = "the-single-bearer-of-the-attic";
const LITERAL = "CANARY-attic-secret-000001";
const running: ChildProcess[] = [];
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
});

interface Alone {
  readonly url: string;
  readonly daemons: readonly { readonly name: string; readonly url: string }[];
  readonly problem?: string;
}

/** Runs `svc dashboard` in a folder until it has said where it is. */
async function alone(folder: string, ...args: string[]): Promise<Alone & { end(): Promise<number | null> }> {
  const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "dashboard", "--no-open", "--json", ...args], {
    cwd: folder,
    env: { ...process.env, SVC_CONFIG: "", ATTIC_TOKEN: TOKEN },
  });
  running.push(child);
  let [out, err] = ["", ""];
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const said = await new Promise<Alone>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      out += chunk;
      if (out.trimEnd().endsWith("}")) resolve(JSON.parse(out));
    });
    child.on("close", (code) => reject(new Error(`svc dashboard ended with ${code}: ${err}`)));
  });
  return {
    ...said,
    async end() {
      child.kill("SIGINT");
      await once(child, "close");
      return child.exitCode;
    },
  };
}

/** A port where nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe.skipIf(NO_BROWSER !== undefined)("svc dashboard", () => {
  let browser: Browser;
  let attic: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
    attic = await startDashboard({
      token: TOKEN,
      config: {
        agents: { owl: { name: "Attic owl", workspace: "./w", tier: "local", local: { mode: "echo" } } },
        node: { id: "attic", name: "attic", bind: "127.0.0.1:0", defaultAgent: "owl" },
      },
    });
  });

  const folderWith = async (dashboard: object): Promise<string> => {
    const folder = await temporaryFolder();
    writeFileSync(join(folder, "svc.json"), JSON.stringify({ node: { id: "here", name: "here" }, agents: {}, dashboard }));
    return folder;
  };

  it("K34 FAULT-70 says in words that its daemon does not run, and shows another one from the menu", async () => {
    const port = await closedPort();
    const folder = await folderWith({
      enabled: true,
      port,
      daemons: [{ name: "attic", url: attic.daemon, dashboardUrl: attic.url, dashboardToken: "${ATTIC_TOKEN}" }],
    });
    const shown = await alone(folder);
    expect(shown.problem).toBe(
      `The daemon's dashboard at http://127.0.0.1:${port} cannot be reached: nothing listens there (ECONNREFUSED): start it with svc daemon start, and see that dashboard.enabled is true there. The pages wait for it.`,
    );
    const page = await openPage(browser);
    await page.goto(shown.url);
    await page.locator(".shell-stale").getByText("ECONNREFUSED").waitFor();
    await judge(page);
    await page.getByRole("button", { name: "this machine" }).click();
    await page.getByRole("menuitemradio", { name: "attic" }).click();
    await page.locator(".kit-presence-idle").first().waitFor({ state: "attached" });
    await page.locator(".shell-stale").waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search or run..." }).fill("owl");
    await page.getByRole("option", { name: "owl: chat" }).waitFor();
    await page.keyboard.press("Escape");
    await judge(page);
    expect(await shown.end()).toBe(0);
  });

  it("CFG-07 FAULT-70 the svc.json of a stopped daemon is changed by the same editor, and counts from its next start", async () => {
    const port = await closedPort();
    const folder = await temporaryFolder();
    const file = join(folder, "svc.json");
    const text = () => readFileSync(file, "utf8");
    const written = JSON.stringify(
      {
        node: { id: "here", name: "here", bind: "127.0.0.1:0" },
        agents: { echo: echoAgent({ maxExecutionMinutes: 30 }) },
        providers: { main: { apiKey: LITERAL } },
        dashboard: { enabled: true, port },
      },
      null,
      2,
    );
    writeFileSync(file, written);
    const shown = await alone(folder);
    const page = await openPage(browser);
    await page.goto(shown.url);
    await page.locator(".shell-stale").getByText(`In Admin, ${file} can be changed all the same.`).waitFor();
    await page.goto(`${new URL(shown.url).origin}/admin#agents/echo`);
    await page.getByText("The daemon is stopped. What you save goes into svc.json and takes effect at its next start.").waitFor();
    const minutes = page.getByLabel("Max execution minutes");
    await minutes.fill("60m");
    await minutes.blur();
    await page.locator('[data-path="agents.echo.maxExecutionMinutes"] .form-error').waitFor();
    await minutes.fill("44");
    await page.getByRole("button", { name: /Review and save/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText('"maxExecutionMinutes": 44').first().waitFor();
    await dialog.getByText("The daemon takes the changes in when it starts.").waitFor();
    await judge(page);
    expect(text()).toBe(written);
    await dialog
      .getByRole("button", { name: /Save for the next start/ })
      .and(page.locator(":not([aria-busy])"))
      .click();
    await page.getByText("Saved in svc.json. It takes effect when the daemon starts.").waitFor();
    expect(text()).toBe(written.replace('"maxExecutionMinutes": 30', '"maxExecutionMinutes": 44'));
    const copies = readdirSync(folder).filter((name) => name.startsWith("svc.json.bak."));
    expect(copies.map((name) => readFileSync(join(folder, name), "utf8"))).toEqual([written]);
    expect(await page.content()).not.toContain(LITERAL);
    await views(page, "admin-stopped", () => judge(page));

    // Somebody changed the file meanwhile: 409 with what it is now, as with a daemon.
    const base = new URL(shown.url).origin;
    const token = await page.evaluate(() => localStorage.getItem("svc.token"));
    const ask = async (method: string, path: string, body?: unknown) => {
      const headers = { authorization: `Bearer ${token}`, "x-requested-with": "svc-board", "content-type": "application/json" };
      const answer = await fetch(base + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      return [answer.status, await answer.json()] as [number, Record<string, unknown>];
    };
    const edits = [{ path: ["agents", "echo", "maxExecutionMinutes"], value: 45 }];
    expect(await ask("PATCH", "/api/admin/settings", { edits, expect: "another" })).toMatchObject([409, { code: "SVC_CONFIG_CHANGED" }]);
    const { revision } = (await ask("GET", "/api/admin/settings"))[1];
    const wrong = [{ path: ["agents", "echo", "maxExecutionMinutes"], value: "sixty" }];
    expect(await ask("PATCH", "/api/admin/settings", { edits: wrong, expect: revision })).toMatchObject([400, { path: "agents.echo.maxExecutionMinutes" }]);
    expect((await fetch(`${base}/api/admin/settings`)).status).toBe(401);

    // The daemon starts with it; from then on its own dashboard is asked, and a change is in force at once.
    const daemon = await startDaemon(folder, { env: { SVC_LOG_LEVEL: "info" } });
    try {
      await expect.poll(() => daemon.said(), { timeout: 60_000 }).toContain("the dashboard listens on");
      expect(await ask("PATCH", "/api/admin/settings", { edits, expect: revision })).toMatchObject([200, { reloaded: ["agents.echo.maxExecutionMinutes"] }]);
      await page.getByText("The daemon is stopped.").waitFor({ state: "detached" });
    } finally {
      await daemon.kill();
    }
    await page.context().close();
    await shown.end();
  });

  it("AUTH-21 sends nothing for who has not opened the link, and nothing to a daemon that svc.json does not name", async () => {
    const heard: string[] = [];
    const stranger = createServer((request, response) => {
      heard.push(`${request.method} ${request.url}`);
      response.end("{}");
    }).listen(0, "127.0.0.1");
    await once(stranger, "listening");
    const there = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const folder = await folderWith({
      enabled: true,
      daemonUrl: attic.daemon,
      daemons: [{ name: "attic", url: attic.daemon, dashboardUrl: attic.url, dashboardToken: "${ATTIC_TOKEN}" }],
    });
    const shown = await alone(folder);
    expect(shown.daemons).toEqual([{ name: "attic", url: attic.daemon }]);
    const base = new URL(shown.url).origin;
    const ask = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(base + path, { headers });
      return [answer.status, ((await answer.json().catch(() => ({}))) as { code?: string }).code];
    };
    expect((await ask("/api/agents"))[0]).toBe(401);
    expect((await ask("/api/agents", { authorization: `Bearer ${TOKEN}` }))[0]).toBe(401);
    const code = new URL(shown.url).hash.slice("#sign-in=".length);
    const signedIn = await fetch(`${base}/api/sign-in`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) });
    const { token } = (await signedIn.json()) as { token: string };
    const bearer = { authorization: `Bearer ${token}` };
    expect((await ask("/api/agents", bearer))[0]).toBe(200);
    expect((await ask("/api/via/attic/api/agents", bearer))[0]).toBe(200);
    for (const name of ["cellar", encodeURIComponent(there), "..", "attic%2f.."])
      expect((await ask(`/api/via/${name}/api/agents`, bearer))[0]).toBeGreaterThanOrEqual(400);
    expect(await ask("/api/via/cellar/api/agents", bearer)).toEqual([400, "SVC_DASHBOARD_DAEMON_UNKNOWN"]);
    for (const path of ["health", "api/via/attic/api/agents", "api/sign-in", "api/ticket", "push/index.html"])
      expect((await ask(`/api/via/attic/${path}`, bearer))[0], path).toBe(404);
    // The browser's token stays here: the attic gets its own.
    expect((await fetch(`${attic.url}/api/agents`, { headers: bearer })).status).toBe(401);
    expect(heard).toEqual([]);
    stranger.close();
    await shown.end();
  });

  it("shows a daemon of the line, and refuses what is no address", async () => {
    const shown = await alone(await temporaryFolder(), "--daemon", attic.daemon);
    expect(shown.daemons).toEqual([{ name: new URL(attic.daemon).host, url: attic.daemon }]);
    await shown.end();
    await expect(alone(await temporaryFolder(), "--daemon", "attic")).rejects.toThrow("'attic' is no address of a daemon");
  });
});
