import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { AGENTS, bearer, type Guarded, guarded } from "./auth.harness.ts";
import { type Ask, askJudged, FIRST_PARTY, JUDGED_APART } from "./openapi-answers.harness.ts";

/** An agent that gives the values that it is asked for: drafts of the graph, and procedures. */
const writer = definePlugin({
  kind: "tier",
  name: "writer",
  version: "1.0.0",
  svc: ">=0.1.0",
  capabilities: [],
  setup: (ctx) =>
    ctx.provide.tier({
      name: "writer",
      enforcesAutonomy: true,
      async *run(turn) {
        const add = { change: "add", id: "returns", title: "Returns", parent: "shop", confidence: 0.5, reason: "it is asked about", text: "Money back." };
        const procedure = { worthwhile: true, name: "ship release", description: "Ship a release of the shop", procedure: "1. Push the tag." };
        const answer = turn.messages[0].entry === "graph" ? { changes: [add] } : procedure;
        yield { type: "text", text: JSON.stringify(answer) };
        yield { type: "done" };
      },
    }),
}) as Plugin<never>;

/** A tool, for the agents' MCP servers. */
const tool = definePlugin({
  kind: "feature",
  name: "far",
  version: "1.0.0",
  svc: ">=0.1.0",
  capabilities: [],
  setup: (ctx) => ctx.provide.tool({ name: "say", description: "Says it", input: { type: "object" }, run: async () => "said" }),
}) as Plugin<never>;

const config = {
  agents: { ...AGENTS, w: { name: "Writer", workspace: "./w", tier: "writer" } },
  approvals: {},
  graph: { enabled: true, draftAgent: "w" },
  procedures: { extraction: { via: "w", minOccurrences: 3 } },
};

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

async function askGraph(ask: Ask, people: Ask): Promise<void> {
  await ask("POST", "/graph/draft", { text: "people ask about returns" });
  await ask("POST", "/graph/draft", { task: "none" });
  for (const on of [ask, people]) {
    const base = on === people ? "/api/graph" : "/graph";
    for (const path of ["", "?match=an order of the shop", "/nodes/shop", "/nodes/none", "/drafts"]) await on("GET", base + path);
  }
  await ask("POST", "/graph/drafts/orders/promote", {});
  await ask("POST", "/graph/drafts/refunds/reject", { reason: "no" });
  await people("GET", "/graph-panel/panel.js");
  await ask("POST", "/graph/drafts/broken/promote", {});
  await ask("POST", "/graph/drafts/none/reject", {});
}

async function askProcedures(ask: Ask, people: Ask): Promise<void> {
  for (const number of [1, 2, 3])
    await ask("POST", "/task", { agent: "foo", message: `ship the release of the shop ${number}` }, { accept: "application/json" });
  await ask("POST", "/procedures/extract", {});
  await people("GET", "/procedures-panel/panel.js");
  for (const on of [ask, people]) {
    const base = on === people ? "/api/procedures" : "/procedures";
    for (const path of ["", "?drafts=true", "?match=deploy the website", "?agent=foo", "/one?id=deploy", "/one?id=none"]) await on("GET", base + path);
    await on("POST", `${base}/promote`, { id: on === people ? "one" : "two" });
    await on("POST", `${base}/reject`, { id: on === people ? "three" : "four", reason: "no" });
    await on("POST", `${base}/promote`, { id: "none" });
  }
}

async function askMcp(ask: Ask, token: string): Promise<void> {
  const call = (body: object, accept = "application/json, text/event-stream") =>
    ask("POST", "/mcp/foo", { jsonrpc: "2.0", ...body }, { ...bearer(token), accept, "mcp-protocol-version": "2025-06-18" });
  const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  await call({ id: 1, method: "initialize", params: client });
  await call({ method: "notifications/initialized" });
  await call({ id: 2, method: "tools/list" });
  await call({ id: 3, method: "tools/call", params: { name: "say", arguments: {} } });
  await call({ id: 4, method: "no such method" });
  for (const method of ["GET", "DELETE"]) await ask(method, "/mcp/foo", undefined, bearer(token));
  await ask("POST", "/mcp/foo", { jsonrpc: "2.0", id: 5, method: "tools/list" });
}

/** A server without sessions has nothing to show or to end. */
const NEVER = ["DELETE /mcp/{agent}", "GET /mcp/{agent}"];

const DEPLOY = "---\nname: deploy\ndescription: Deploy the website to staging\n---\n\n1. Build.\n";

async function files(at: Guarded): Promise<void> {
  write(at.dataFolder, {
    "graph/shop.yaml": "title: The shop\nkeywords: [order, customer]\n",
    "graph/broken.yaml": "no: title\n",
    "graph/_drafts/orders.yaml": "change: add\nid: orders\ntitle: Orders\nparent: shop\nconfidence: 0.5\nby: w\nreview: good\n",
    "graph/_drafts/refunds.yaml": "change: add\nid: refunds\ntitle: Refunds\nparent: shop\nconfidence: 0.5\n",
    "graph/_drafts/broken.yaml": "change: none\n",
    "procedures/deploy.md": DEPLOY,
    "procedures/broken.md": "no front matter",
    "procedures/for-foo.md": DEPLOY.replace("---\n\n", "agents: [foo]\ncluster: c1\n---\n\n"),
    ...Object.fromEntries(["one", "two", "three", "four"].map((name) => [`procedures/_drafts/${name}.md`, DEPLOY])),
  });
}

describe("answers of routes about what agents know are those that GET /openapi.json names", { timeout: 120_000 }, () => {
  it("of the intent graph, the procedures and the agents' MCP servers", async () => {
    const at = await guarded({ config, plugins: [writer, tool], options: { known: FIRST_PARTY } });
    await files(at);
    const { secret } = await at.token("dashboard:write");
    const { secret: mcp } = await at.token("mcp:foo");
    const bases = { daemon: at.daemon, dashboard: at.dashboard };
    const asking = await askJudged(at, bases, JUDGED_APART.knowledge);
    const [ask, people] = [asking.on("daemon"), asking.on("dashboard", bearer(secret))];
    await askGraph(ask, people);
    await askProcedures(ask, people);
    await askMcp(ask, mcp);
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual(NEVER);
  });
});
