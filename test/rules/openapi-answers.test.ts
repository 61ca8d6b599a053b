import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { type Approvals, definePlugin, listOf, objectOf, type Plugin, type WorkItem } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import type { AnswerDocument } from "../kit/answers.ts";
import { AGENTS, bearer, type Guarded, get, guarded, REMOTE } from "./auth.harness.ts";
import { type Ask, askJudged, FIRST_PARTY, JUDGED_APART, operationsOf } from "./openapi-answers.harness.ts";

/** Judged here: all but what another file judges. */
const isJudgedHere = (plugin: string): boolean => !Object.values<readonly string[]>(JUDGED_APART).flat().includes(plugin);

/** Described, and not asked here: a restart is the daemon's own process. */
const UNASKED = ["POST /restart"];

const config = {
  agents: { ...AGENTS, foo: { ...AGENTS.foo, codeindex: true, presence: { color: "#336699" } } },
  crons: {
    sweep: { schedule: "0 3 * * *", agent: "foo", prompt: "look", fireToken: "the-token-of-sweep" },
    asked: { schedule: "0 4 * * *", agent: "foo", prompt: "look", approval: { action: "create", requestedBy: "foo", requestedAt: "2026-01-01T00:00:00Z" } },
  },
  webhooks: [{ id: "w1", agentId: "foo", source: "ci" }],
  budgets: { all: { day: { turns: 1_000 } } },
  metrics: { enabled: true },
  business: { projects: [{ id: "p" }] },
  mesh: { enabled: true, peers: [{ name: "b", url: "http://127.0.0.1:9", token: "the-token-of-peer-b" }] },
  boards: [{ id: "team", name: "Team", source: { type: "far", projects: ["p"] } }],
  notifications: { local: { banner: false, sound: false } },
};

let approvals: Approvals | undefined;

/** A channel that takes everything, a tool, and a hand on the questions to people. */
const far = definePlugin({
  kind: "feature",
  name: "far",
  version: "1.0.0",
  svc: ">=0.1.0",
  capabilities: ["services"],
  setup(ctx) {
    const traits = { maxChars: 100, unit: "utf16", dialect: "plain" } as const;
    const channel = ctx.provide.channel({ name: "mail", traits, send: async () => ({ platformId: "1" }), test: async () => "the mail" });
    let item: WorkItem = {
      id: "p#1",
      title: "One",
      state: "open",
      labels: ["status::todo"],
      updatedAt: Date.now(),
      project: "p",
      url: "https://far.example/1",
    };
    ctx.provide.board({
      name: "far",
      list: async () => [item, { ...item, id: "p#2", state: "closed", closedAt: Date.now() }, { ...item, id: "p#3", labels: ["status::other"] }],
      get: async () => item,
      async update(_id, { addLabels = [] }) {
        item = { ...item, labels: addLabels };
        return item;
      },
      labels: async () => [{ name: "status::todo", color: "#336699", description: "to do" }, { name: "bug" }],
    });
    ctx.provide.tool({ name: "say", description: "Says it", input: { type: "object" }, run: async () => "said" });
    return {
      async start() {
        channel.ready();
        approvals = ctx.services.get("approvals") as Approvals | undefined;
      },
    };
  },
}) as Plugin<never>;

const acme = (answers: Plugin["answers"]): Plugin<never> =>
  definePlugin({
    kind: "feature",
    name: "acme",
    version: "1.0.0",
    svc: ">=0.1.0",
    capabilities: ["routes"],
    ...(answers === undefined ? {} : { answers }),
    setup(ctx) {
      ctx.provide.route({ method: "GET", path: "/acme/:id", guard: "loopback", handle: () => ({ id: "x" }) });
    },
  }) as Plugin<never>;

async function askKernel(at: Guarded, ask: Ask): Promise<void> {
  const asJson = { accept: "application/json" };
  const { taskId } = await ask("POST", "/task", { agent: "foo", message: "hello" }, { ...asJson, "idempotency-key": "k" });
  await ask("POST", "/task", { agent: "foo", message: "hello" }, { ...asJson, "idempotency-key": "k" });
  await ask("POST", "/task", { agent: "foo", message: "another" }, { ...asJson, "idempotency-key": "k" });
  for (const message of ["hello", "tool look", "fail", "usage 1 2 3 4"]) await ask("POST", "/task", { agent: "foo", message }, asJson);
  for (const body of [{ agent: "foo", message: "hello" }, { agent: "nobody", message: "hello" }, { agent: "foo" }]) await ask("POST", "/task", body);
  await ask("POST", "/ask", { text: "hello" });
  await ask("POST", "/ask", { text: "fail" });
  const held = ask("POST", "/task", { agent: "foobar", message: "hold" }, asJson);
  await expect.poll(() => at.tier.held).toBe(1);
  const { running } = (await ask("GET", "/api/tasks")) as { running: { id: string }[] };
  await ask("GET", "/agents");
  await ask("POST", `/api/tasks/${running[0]?.id}/followup`, { message: "more" });
  await ask("GET", "/api/tasks");
  await ask("POST", `/api/tasks/${running[0]?.id}/cancel`, {});
  await held;
  const all = ["hold", "hold on", "and this"].map((message) => ask("POST", "/task", { agent: "foo", message }, asJson));
  const lists = async () => (await ask("GET", "/api/tasks")) as { running: { id: string; with?: string[] }[]; queued: object[] };
  await expect.poll(async () => (await lists()).queued.length).toBe(2);
  at.tier.release();
  await expect.poll(async () => (await lists()).running[0]?.with?.length).toBe(1);
  await ask("GET", "/agents");
  await ask("POST", `/api/tasks/${(await lists()).running[0]?.id}/cancel`, {});
  await Promise.all(all);
  for (const path of ["/", "/health", "/ready", "/nodes", "/agents", "/channels", "/events/recent", "/traces", "/openapi.json", "/events", "/metrics"])
    await ask("GET", path);
  for (const path of ["/events/recent?keep=oldest&limit=1", "/events/recent?since=evt_0123456789_zz", `/traces/${taskId}`, "/traces/none", "/traces?limit=0"])
    await ask("GET", path);
  for (const path of ["/health", "/ready", "/agents"]) await ask("GET", path, undefined, REMOTE);
  for (const path of ["/agents/foo/capability", "/agents/foo/tools", "/agents/nobody/tools", "/agents/foo/events"]) await ask("GET", path);
  await ask("POST", "/agents/foo/tools/say", {});
  await ask("POST", "/agents/foo/tools/none", {});
  await ask("POST", "/send", { channel: "mail", chatId: "1", text: "hello" });
  await ask("POST", "/send", { channel: "none", chatId: "1", text: "hello" });
  await ask("POST", "/channels/mail/test", {});
  await ask("POST", "/channels/none/test", {});
  await ask("POST", "/api/tasks/none/cancel", {});
  await ask("POST", "/reload", {});
}

async function askPlugins(ask: Ask, people: Ask): Promise<void> {
  await ask("POST", "/crons/sweep/run", {});
  await ask("POST", "/crons/sweep/fire", {}, bearer("the-token-of-sweep"));
  await ask("POST", "/crons/sweep/fire", {}, bearer("another"));
  for (const path of ["/crons", "/crons/sweep/runs", "/crons/none/runs", "/presence", "/budgets"]) await ask("GET", path);
  await ask("POST", "/webhook/foo/ci", { a: 1 });
  await ask("POST", "/webhook/foo/ci", { a: 1 });
  await ask("POST", "/webhook/nobody", { a: 1 });
  await ask("POST", "/webhook/foo", { a: 1 });
  await ask("POST", "/webhooks/w1/test", { a: 1 });
  await ask("GET", "/webhooks");
  const { deliveries } = (await ask("GET", "/webhooks/w1/deliveries")) as { deliveries: { delivery: string }[] };
  await ask("POST", "/webhooks/replay", { delivery: deliveries.at(-1)?.delivery });
  await people("POST", "/api/admin/schedules/sweep/run", {});
  await people("POST", "/api/admin/schedules/asked/decide", { approved: true });
  for (const path of ["/api/admin/schedules", "/api/admin/webhooks", "/api/admin/webhooks/w1/deliveries", "/api/budgets", "/api/presence", "/budgets/panel.js"])
    await people("GET", path);
  await people("POST", "/api/admin/webhooks/w1/test", { a: 2 });
  const { id } = await people("POST", "/api/admin/tokens", { name: "other", scopes: ["dashboard:read"], days: 1 });
  await people("POST", `/api/admin/tokens/${id}/revoke`, {});
  await people("POST", "/api/admin/tokens/none/revoke", {});
  await people("GET", "/api/admin/tokens");
}

async function askQuestions(ask: Ask, base: string): Promise<void> {
  const put = async (digest: string) =>
    (await approvals?.ask({ kind: "test", title: "Do it", detail: "all of it", digest: base + digest, requestedBy: "plugin far" }))?.id;
  const [later, yes, no] = [await put("1"), await put("2"), await put("3")];
  await ask("POST", `${base}/${later}/later`, { hours: 1 });
  await ask("POST", `${base}/${yes}/approve`, {});
  await ask("POST", `${base}/${no}/reject`, {});
  await ask("POST", `${base}/${no}/approve`, {});
  for (const path of [base, `${base}?open=false&limit=1`, `${base}?open=false`, `${base}/${later}`, `${base}/${yes}`, `${base}/none`]) await ask("GET", path);
}

async function askWorkspace(at: Guarded, ask: Ask, people: Ask): Promise<void> {
  mkdirSync(join(at.folder, "w"), { recursive: true });
  writeFileSync(join(at.folder, "w", "a.md"), "words");
  const base = "/agents/foo";
  await ask("POST", `${base}/references`, { name: "a", at: "a.md", note: "n" });
  await ask("POST", `${base}/references`, { name: "b", at: "b.md" });
  writeFileSync(join(at.folder, "w", "a.md"), "other words");
  await ask("POST", `${base}/references/verify`, {});
  await ask("GET", `${base}/references`);
  await ask("POST", `${base}/references/remove`, { name: "a" });
  await ask("PUT", `${base}/memory`, { file: "MEMORY.md", text: "x".repeat(100_000) });
  for (const path of ["", "?file=MEMORY.md", "?file=none.md"]) await ask("GET", `${base}/memory${path}`);
  await people("GET", `/api${base}/memory`);
  await people("GET", `/api${base}/memory?file=MEMORY.md`);
  await people("GET", "/memory-panel/panel.js");
  await ask("DELETE", `${base}/memory?file=MEMORY.md`);
}

async function askActions(at: Guarded, ask: Ask, people: Ask): Promise<void> {
  const folder = join(at.dataFolder, "actions");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "hello.json"),
    JSON.stringify({ id: "hello", title: "Hello", kind: "shell", command: "echo {{who}}", inputs: [{ name: "who", type: "string", required: true }] }),
  );
  writeFileSync(join(folder, "broken.json"), "{");
  await ask("GET", "/api/actions");
  await ask("POST", "/api/actions/hello/run", { who: "you" });
  await ask("POST", "/api/actions/hello/run", {});
  await ask("POST", "/api/actions/broken/run", {});
  const { actions } = (await ask("GET", "/api/actions/builtin")) as { actions: { name: string }[] };
  await ask("POST", `/api/actions/builtin/${actions[0]?.name}`, { strange: 1 });
  await ask("POST", "/api/actions/builtin/none", {});
  await people("GET", "/api/admin/actions");
  await people("POST", "/api/admin/actions/hello/run", { who: "me" });
}

async function askBoards(ask: Ask, base: string): Promise<void> {
  const marked = { "x-requested-with": "svc-board" };
  await ask("GET", base);
  await ask("GET", `${base}/team/items`);
  await ask("GET", `${base}/none/items`);
  for (const to of ["doing", "todo"]) await ask("PATCH", `${base}/team/items/p%231/move`, { to }, marked);
  await ask("PATCH", `${base}/team/items/p%231/move`, { from: "review", to: "doing" }, marked);
  await ask("PATCH", `${base}/team/items/p%231/move`, { to: "doing" });
}

async function askLedger(ask: Ask, people: Ask): Promise<void> {
  const matter = { project: "p", subject: "s" };
  await ask("POST", "/ledger/assign", { ...matter, agent: "foo" });
  await ask("POST", "/ledger/assign", { ...matter, agent: "foo", expect: 9 });
  for (const query of ["", "?project=p&subject=s", "?project=p&subject=none"]) await ask("GET", `/ledger${query}`);
  await people("GET", "/api/ledger");
  await people("GET", "/ledger-panel/panel.js");
  await ask("POST", "/ledger/release", matter);
}

async function askMesh(ask: Ask, people: Ask): Promise<void> {
  const peer = { ...REMOTE, ...bearer("the-token-of-peer-b"), "idempotency-key": "k1" };
  for (const stream of [false, true]) await ask("POST", "/mesh/task", { agent: "foo", message: "hello", stream }, { ...peer, "idempotency-key": `k${stream}` });
  await ask("POST", "/mesh/task", { agent: "foo", message: "fail" }, peer);
  await ask("POST", "/mesh/task", { agent: "nobody", message: "hello" }, peer);
  await ask("POST", "/mesh/task/cancel", { agent: "foo", message: "hello" }, { ...peer, "idempotency-key": "k2" });
  await ask("POST", "/mesh/announce", { text: "hear" });
  await people("POST", "/api/admin/mesh/announce", { text: "hear" });
  await ask("GET", "/mesh/node");
  for (const [run, base] of [[ask, "/mesh/peers"] as const, [people, "/api/admin/mesh/peers"] as const]) {
    await run("POST", `${base}/b/test`, {});
    await run("POST", `${base}/none/test`, {});
    await run("GET", base);
  }
}

/** Does it register routes? Looked up in its sources: many plugins do so only where they are configured. */
const hasRoutes = (folder: string): boolean =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /^(?!dist|node_modules)[^.]*\.ts$/.test(file))
    .some((file) => /provide\.route\(|provide\.route,|provideRoute\(/.test(readFileSync(join(folder, file), "utf8")));

const documentOf = async (daemon: string) => (await get(daemon, "/openapi.json")).body as unknown as AnswerDocument;
const valid = async (document: AnswerDocument) => (await new Validator().validate(structuredClone(document) as never)).valid;

describe("answers in GET /openapi.json", () => {
  it("stand there for every route of the kernel and of each plugin", async () => {
    const mute = FIRST_PARTY.filter((folder) => hasRoutes(folder) && !readFileSync(join(folder, "index.ts"), "utf8").includes("answers: () =>"));
    expect(mute).toEqual([]);
    const at = await guarded({ config, options: { known: FIRST_PARTY } });
    const without: string[] = [];
    for (const server of ["daemon", "dashboard"]) {
      const { paths } = (await get(at.daemon, `/openapi.json?server=${server}`)).body as unknown as AnswerDocument;
      for (const [route, { responses }] of operationsOf(paths)) {
        const told = Object.entries(responses).filter(([status, { content }]) => status.startsWith("2") || content !== undefined);
        if (told.every(([status, { content }]) => content === undefined && status !== "204")) without.push(route);
      }
    }
    expect(without).toEqual([]);
  });

  it("are those that a daemon really gives, errors too, without a member that the document does not name", async () => {
    const at = await guarded({ config, plugins: [far], options: { known: FIRST_PARTY } });
    const { secret } = await at.token("dashboard:write");
    const asking = await askJudged(at, { daemon: at.daemon, dashboard: at.dashboard }, isJudgedHere);
    const ask = asking.on("daemon");
    await askKernel(at, ask);
    const people = asking.on("dashboard", bearer(secret));
    await askPlugins(ask, people);
    await askQuestions(ask, "/approvals");
    await askQuestions(people, "/api/approvals");
    await askWorkspace(at, ask, people);
    await askActions(at, ask, people);
    await askMesh(ask, people);
    await askLedger(ask, people);
    await ask("POST", "/api/agents/foo/index", {});
    await ask("POST", "/api/agents/foo/index", {}, { accept: "text/event-stream" });
    await ask("POST", "/api/agents/nobody/index", {});
    await ask("POST", "/api/agents/foo/code-index", {});
    await ask("POST", "/api/agents/foo/code-index", {}, { accept: "text/event-stream" });
    await ask("POST", "/api/agents/nobody/code-index", {});
    await askBoards(ask, "/boards");
    await askBoards(people, "/api/boards");
    await people("GET", "/api/board-labels?source=far&projects=p");
    await ask("POST", "/notify", { text: "hear", channel: "mail", chat: "1" });
    await ask("POST", "/notify", { text: "hear", channel: "none", chat: "1" });
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual(UNASKED);
  });

  it("are read when somebody asks for the document, and not before", async () => {
    let read = 0;
    const answers: Plugin["answers"] = async () => {
      read += 1;
      return { default: { schemas: {}, routes: {} } };
    };
    const at = await guarded({ plugins: [acme(answers)] });
    expect((await get(at.daemon, "/acme/1")).status).toBe(200);
    expect(read).toBe(0);
    await documentOf(at.daemon);
    expect(read).toBe(1);
  });

  it("are printed by svc api --types as TypeScript, those of other plugins too", async () => {
    const Thing = objectOf({ id: { type: "string" }, state: { enum: ["on", "off"] } }, { tags: listOf({ type: ["string", "null"] }) });
    const at = await guarded({ plugins: [acme(async () => ({ default: { schemas: { Thing }, routes: { "GET /acme/:id": [{ json: Thing }] } } }))] });
    writeFileSync(join(at.dataFolder, "daemon.json"), JSON.stringify({ pid: process.pid, host: "127.0.0.1", port: at.kernel.address?.port, startedAt: 1 }));
    const { code, stdout, stderr } = await at.svc("api", "--types");
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(
      'export type Thing = {\n  readonly id: string;\n  readonly state: "on" | "off";\n  readonly tags?: readonly (string | null)[];\n};',
    );
    expect(stdout).toContain('  readonly "GET /acme/{id}": Thing;');
    expect(stdout).toContain('  readonly "POST /task": TaskResult | string;');
  });

  it("are left out where a plugin has none or they cannot be read, and the document is valid all the same", async () => {
    for (const answers of [undefined, () => Promise.reject(new Error("no such module")), async () => ({ default: { schemas: 1, routes: [] } as never })]) {
      const at = await guarded({ plugins: [acme(answers)] });
      const document = await documentOf(at.daemon);
      expect(document.paths["/acme/{id}"]?.get?.responses["200"]).toEqual({ description: "Done" });
      expect(await valid(document)).toBe(true);
    }
  });

  it("have names of their own, also where two plugins use the same", async () => {
    const Health = objectOf({ id: { type: "string" } });
    const at = await guarded({ plugins: [acme(async () => ({ default: { schemas: { Health }, routes: { "GET /acme/:id": [{ json: Health }] } } }))] });
    const document = await documentOf(at.daemon);
    const schema = { $ref: "#/components/schemas/feature-acme.Health" };
    expect(document.paths["/acme/{id}"]?.get?.responses["200"]?.content).toEqual({ "application/json": { schema } });
    expect(document.components.schemas["feature-acme.Health"]).toEqual(Health);
    expect(await valid(document)).toBe(true);
  });
});
