import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";

const SECRET = "CANARY-literal-secret-000001";
const TOKEN = "a-single-bearer-of-the-test";
let at: Dashboard;
beforeEach(async () => {
  at = await startDashboard({
    token: TOKEN,
    config: {
      agents: { echo: echoAgent({ maxExecutionMinutes: 30 }) },
      providers: { main: { apiKey: SECRET } },
      crons: { morning: { schedule: "0 9 * * *", agent: "echo", prompt: "hello", enabled: false } },
    },
  });
  return () => at.stop();
});

const file = () => readFileSync(join(at.folder, "svc.json"), "utf8");
const backups = () => readdirSync(at.folder).filter((name) => name.includes(".bak."));
const ask = (path: string, { method = "GET", bearer = TOKEN, body }: { method?: string; bearer?: string | undefined; body?: unknown } = {}) =>
  fetch(at.url + path, {
    method,
    headers: {
      "x-requested-with": "svc-board",
      ...(bearer === undefined || bearer === "" ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const ROUTES: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ["GET", "/api/admin/settings"],
  ["GET", "/api/admin/schema"],
  ["POST", "/api/admin/settings/check", { edits: [] }],
  ["PATCH", "/api/admin/settings", { edits: [], expect: "x" }],
  ["POST", "/api/admin/secrets", { name: "X", value: "y" }],
  ["GET", "/api/admin/plugins"],
  ["POST", "/api/admin/plugins/feature-x/release"],
  ["GET", "/api/admin/channels"],
  ["POST", "/api/admin/channels/botmsg/message", { chat: "1", text: "x" }],
  ["POST", "/api/admin/channels/guildchat/setup", {}],
  ["GET", "/api/admin/setups/x"],
  ["POST", "/api/admin/setups/x/answer", { number: 1, value: "x" }],
  ["DELETE", "/api/admin/setups/x"],
  ["GET", "/api/admin/setup"],
  ["POST", "/api/admin/setup/try", { agent: "echo", text: "x" }],
  ["GET", "/api/admin/schedules"],
  ["POST", "/api/admin/schedules/morning/run"],
  ["POST", "/api/admin/schedules/morning/decide", { approved: true }],
  ["GET", "/api/admin/actions"],
  ["POST", "/api/admin/actions/http.fetch/run", {}],
  ["GET", "/api/admin/tokens"],
  ["POST", "/api/admin/tokens", { name: "x", scopes: ["dashboard:read"] }],
  ["POST", "/api/admin/tokens/tok_x/revoke"],
];

describe("who may administer", () => {
  it("AUTH-09 AUTH-13 AUTH-14 each route refuses a stranger with 401, a token that may read with 403, a foreign page with 403", async () => {
    const made = (await (await ask("/api/admin/tokens", { method: "POST", body: { name: "reader", scopes: ["dashboard:read"] } })).json()) as {
      secret: string;
      id: string;
    };
    for (const [method, path, body] of ROUTES) {
      const statuses = [
        (await ask(path, { method, body, bearer: "" })).status,
        (await ask(path, { method, body, bearer: "not-the-token" })).status,
        (await ask(path, { method, body, bearer: made.secret })).status,
        (await fetch(at.url + path, { method, headers: { origin: "http://evil.example", authorization: `Bearer ${TOKEN}` } })).status,
      ];
      expect([method, path, ...statuses]).toEqual([method, path, 401, 401, 403, 403]);
    }
  });

  it("AUTH-06 a secret is in one answer only; AUTH-15 a revoked token is refused at once, its record stays", async () => {
    const made = (await (await ask("/api/admin/tokens", { method: "POST", body: { name: "once", scopes: ["dashboard:read"], days: 3 } })).json()) as {
      secret: string;
      id: string;
    };
    expect((await ask("/api/agents", { bearer: made.secret })).status).toBe(200);
    expect((await ask(`/api/agents?token=${made.secret}`, { bearer: "" })).status).toBe(200);
    const listed = await (await ask("/api/admin/tokens")).text();
    expect(listed).toContain(made.id);
    expect(listed).not.toContain(made.secret);
    expect(listed).not.toMatch(/"hash"/);
    expect((await ask(`/api/admin/tokens/${made.id}/revoke`, { method: "POST" })).status).toBe(200);
    expect((await ask("/api/agents", { bearer: made.secret })).status).toBe(401);
    expect((await ask(`/api/agents?token=${made.secret}`, { bearer: "" })).status).toBe(401);
    expect(await (await ask("/api/admin/tokens")).json()).toMatchObject({
      tokens: expect.arrayContaining([expect.objectContaining({ id: made.id, status: "revoked", revokedAt: expect.any(String) })]),
    });
    expect(readFileSync(join(at.folder, ".svc", "tokens.json"), "utf8")).not.toContain(made.secret);
    expect(at.process.said()).not.toContain(made.secret);
    expect((await ask("/api/admin/tokens", { method: "POST", body: { name: "", scopes: ["dashboard:read"] } })).status).toBe(400);
    expect((await ask("/api/admin/tokens", { method: "POST", body: { name: "x", scopes: ["root:all"] } })).status).toBe(400);
  });
});

interface Settings {
  readonly revision: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly text: string;
}
const read = async () => (await (await ask("/api/admin/settings")).json()) as Settings;

describe("a save", () => {
  it("CFG-05 no answer holds a credential that stands in the file", async () => {
    for (const path of ["/api/admin/settings", "/api/admin/schema", "/api/admin/plugins", "/api/admin/channels", "/api/admin/setup"]) {
      const answer = await ask(path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect([path, (await answer.text()).includes(SECRET)]).toEqual([path, false]);
    }
  });

  it("CFG-05 CFG-06 CFG-07 CFG-08 writes only the changed keys, leaves a copy, and says what is in force", async () => {
    const before = file();
    const { revision } = await read();
    const answer = await ask("/api/admin/settings", {
      method: "PATCH",
      body: { edits: [{ path: ["agents", "echo", "maxExecutionMinutes"], value: 33 }], expect: revision },
    });
    expect(answer.status).toBe(200);
    const report = (await answer.json()) as object;
    expect("reloaded" in report !== "reloadSkipped" in report).toBe(true);
    expect(report).toMatchObject({ reloaded: ["agents.echo.maxExecutionMinutes"] });
    expect(file()).toContain('"maxExecutionMinutes": 33');
    expect(file()).toContain(SECRET);
    expect(backups().map((name) => readFileSync(join(at.folder, name), "utf8"))).toContain(before);
  });

  it("CFG-07 a refused change names the path, and leaves the file byte for byte, without a copy", async () => {
    const [before, copies] = [file(), backups().length];
    const { revision } = await read();
    for (const edit of [
      { path: ["agents", "echo", "maxExecutionMinutes"], value: "sixty" },
      { path: ["agents", "echo", "nosuchkey"], value: 1 },
      { path: ["dashboard", "port"], value: 70_000 },
      { path: ["node", "name"], value: "${HOME}" },
      { path: ["node", "__proto__"], value: {} },
      { path: ["providers", "main", "apiKey"], value: "***" },
      { path: ["node", "name"], value: null },
    ]) {
      const answer = await ask("/api/admin/settings", { method: "PATCH", body: { edits: [edit], expect: revision } });
      expect([edit.path.join("."), answer.status]).toEqual([edit.path.join("."), 400]);
    }
    const wrong = await (
      await ask("/api/admin/settings", {
        method: "PATCH",
        body: { edits: [{ path: ["agents", "echo", "maxExecutionMinutes"], value: "sixty" }], expect: revision },
      })
    ).json();
    expect(wrong).toMatchObject({ error: expect.stringMatching(/^Validation failed: /), path: "agents.echo.maxExecutionMinutes" });
    expect(file()).toBe(before);
    expect(backups()).toHaveLength(copies);
  });

  it("CFG-07 the dry run of a change has its line and its words, and writes nothing", async () => {
    const before = file();
    const answer = await ask("/api/admin/settings/check", {
      method: "POST",
      body: { edits: [{ path: ["agents", "echo", "maxExecutionMinutes"], value: "sixty" }] },
    });
    const { problems, difference } = (await answer.json()) as {
      problems: { path: string; line: number; fresh?: true }[];
      difference: { sign: string; text: string }[];
    };
    const problem = problems.find(({ fresh }) => fresh === true);
    expect(problem).toMatchObject({ path: "agents.echo.maxExecutionMinutes", line: expect.any(Number) });
    expect(before.split("\n")[(problem?.line ?? 1) - 1]).toContain("maxExecutionMinutes");
    expect(difference.map(({ sign }) => sign)).toEqual(expect.arrayContaining(["-", "+"]));
    expect(file()).toBe(before);
  });

  it("two writers: the second one from the same revision is 409 with the file as it is now; of twenty at once one wins", async () => {
    const { revision } = await read();
    const change = (value: number) =>
      ask("/api/admin/settings", { method: "PATCH", body: { edits: [{ path: ["agents", "echo", "maxExecutionMinutes"], value }], expect: revision } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => change(40 + at)));
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    const lost = answers.find(({ status }) => status === 409);
    const { code, current } = (await (lost as Response).json()) as { code: string; current: Settings };
    expect(code).toBe("SVC_CONFIG_CHANGED");
    expect(current.revision).not.toBe(revision);
    const won = /"maxExecutionMinutes": (\d+)/.exec(file())?.[1];
    expect(current.document).toMatchObject({ agents: { echo: { maxExecutionMinutes: Number(won) } } });
  });

  it("CFG-09 what waits for a restart is said, and not called in force", async () => {
    const { revision } = await read();
    const answer = await ask("/api/admin/settings", {
      method: "PATCH",
      body: { edits: [{ path: ["agents", "echo", "model"], value: "another" }], expect: revision },
    });
    expect(await answer.json()).toMatchObject({ restartRequired: ["agents.echo.model"], reloaded: [] });
  });

  it("a file that somebody breaks by hand is told with its line, and a save says why it cannot be made", async () => {
    const good = file();
    writeFileSync(join(at.folder, "svc.json"), good.replace('"agents"', '"agents'));
    try {
      const answer = await ask("/api/admin/settings");
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ code: "SVC_CONFIG_SYNTAX", error: expect.stringMatching(/svc\.json:\d+/) });
    } finally {
      writeFileSync(join(at.folder, "svc.json"), good);
    }
  });

  it("a credential moves to .env, whose name alone stands in the file then", async () => {
    const answer = await ask("/api/admin/secrets", { method: "POST", body: { name: "MAIN_API_KEY", path: "providers.main.apiKey" } });
    expect(answer.status).toBe(200);
    expect(file()).toContain('"apiKey": "${MAIN_API_KEY}"');
    expect(file()).not.toContain(SECRET);
    expect(readFileSync(join(at.folder, ".env"), "utf8")).toContain(`MAIN_API_KEY=${SECRET}`);
    expect(
      (await ask("/api/admin/secrets", { method: "POST", body: { name: "NODE_OPTIONS", path: "providers.main.apiKey", value: "--import=x" } })).status,
    ).toBe(400);
  });
});
