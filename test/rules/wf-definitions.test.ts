import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { flow, type Stage, stage } from "./wf.harness.ts";

const HELLO = flow([{ id: "done", kind: "end", output: "{{ input.x }}" }], "start > done");
const YAML = `# by hand
nodes:
  - {id: start, kind: trigger} # the start
  - {id: done, kind: end, output: 1}
edges:
  - {from: start, to: done}
`;

const home = ({ folder }: Stage, ...names: string[]) => join(folder, ".svc/workflows", ...names);
const put = (at: Stage, name: string, text: string) => {
  mkdirSync(dirname(home(at, name)), { recursive: true });
  writeFileSync(home(at, name), text);
};
const ids = async (at: Stage) =>
  ((await at.page("GET", "/api/workflows")).body["workflows"] as { definition: { id: string } }[]).map(({ definition }) => definition.id);

describe("definitions", () => {
  it("WF-01 what is written in YAML is overwritten by no JSON, and none is put beside it; its layout lies apart", async () => {
    const at = await stage({});
    put(at, "hand.yaml", YAML);
    const answer = await at.page("PUT", "/api/workflows/hand", HELLO);
    expect(answer).toMatchObject({ status: 409, body: { code: "SVC_WORKFLOW_YAML", reason: "yaml-authored", file: expect.stringContaining("hand.yaml") } });
    expect(await at.page("PUT", "/api/workflows/hand/layout", { start: { x: 1 } })).toMatchObject({ status: 200, body: { ok: true } });
    expect(readdirSync(home(at)).sort()).toEqual(["hand.layout.json", "hand.yaml"]);
    expect(readFileSync(home(at, "hand.yaml"), "utf8")).toBe(YAML);
    expect((await at.page("GET", "/api/workflows/hand")).body).toMatchObject({
      format: "yaml",
      layout: { start: { x: 1 } },
      problems: [],
      definition: { nodes: [{ id: "start" }, {}] },
    });
    expect(await ids(at)).toEqual(["hand"]);
  });

  it("WF-02 what lies in _drafts and _rejected is no workflow: not in the list, not to be read, not to be run", async () => {
    const at = await stage({ real: HELLO });
    put(at, "_drafts/draft.yaml", YAML);
    put(at, "_drafts/_rejected/old.yaml", YAML);
    put(at, "_hidden.yaml", YAML);
    expect(await ids(at)).toEqual(["real"]);
    for (const id of ["draft", "old", "_hidden", "_drafts%2Fdraft", "_drafts"]) {
      expect((await at.page("GET", `/api/workflows/${id}`)).status).toBe(404);
      expect((await at.call("POST", `/workflows/${id}/run`, {})).status).toBe(404);
    }
  });

  it("WF-07 words of the paths and paths are ids of no workflow, in PUT, draft and promotion", async () => {
    const at = await stage({});
    put(at, "_drafts/good.yaml", YAML);
    for (const id of ["signals", "a..b", "%2e%2e%2fx", "a%2fb", "A", "_x", "x".repeat(65)]) {
      expect((await at.page("PUT", `/api/workflows/${id}`, HELLO)).status, id).toBeGreaterThanOrEqual(400);
      expect((await at.page("PUT", `/api/workflows/drafts/${id}`, HELLO)).status, id).toBeGreaterThanOrEqual(400);
    }
    for (const id of ["runs", "drafts", "tasks", "signals", "../x"]) {
      const answer = await at.page("POST", "/api/workflows/drafts/good/promote", { id });
      expect(answer).toMatchObject({ status: 400, body: { code: "SVC_WORKFLOW_ID" } });
    }
    for (const id of ["runs", "drafts", "tasks"]) {
      expect([400, 404, 405]).toContain((await at.page("PUT", `/api/workflows/${id}`, HELLO)).status);
      put(at, `${id}.json`, JSON.stringify(HELLO));
    }
    const listed = (await at.page("GET", "/api/workflows")).body["workflows"] as { broken: boolean }[];
    expect(listed.map(({ broken }) => broken)).toEqual([true, true, true]);
    expect(readdirSync(home(at)).sort()).toEqual(["_drafts", "drafts.json", "runs.json", "tasks.json"]);
    expect(existsSync(join(at.folder, "x.json"))).toBe(false);
  });

  it.each(["readonly", "disabled"])("WF-13 with editor %s definitions, layouts and drafts are read and not written", async (editor) => {
    const at = await stage({ real: HELLO });
    put(at, "_drafts/d.yaml", YAML);
    await at.stop();
    const second = await stage({}, { folder: at.folder, sections: { workflows: { enabled: true, editor, dir: home(at) } } });
    for (const [method, path, body] of [
      ["PUT", "/api/workflows/real", HELLO],
      ["PUT", "/api/workflows/new", HELLO],
      ["PUT", "/api/workflows/real/layout", {}],
      ["PUT", "/api/workflows/drafts/d", HELLO],
      ["POST", "/api/workflows/drafts/d/promote", {}],
      ["POST", "/api/workflows/drafts/d/reject", {}],
    ] as const) {
      expect(await second.page(method, path, body), path).toMatchObject({ status: 403, body: { code: "SVC_WORKFLOW_READONLY" } });
      expect((await second.call(method, path, body)).status).toBe(403);
    }
    expect(await ids(second)).toEqual(["real"]);
    expect((await second.page("GET", "/api/workflows/drafts")).body).toMatchObject({ drafts: [{ definition: { id: "d" }, problems: [] }] });
    expect((await second.page("POST", "/api/workflows/drafts/d/validate", {})).body).toEqual({ ok: true, problems: [] });
    expect((await second.page("GET", "/workflows/editor")).status).toBe(404);
    expect(readFileSync(home(at, "_drafts/d.yaml"), "utf8")).toBe(YAML);
    expect((await second.until(await second.start("real", { x: 1 }), "completed")).output).toBe(1);
  });

  it("CFG-10 a broken file fails no reload and no other workflow; its place is told, and mended it runs", async () => {
    const at = await stage({ real: HELLO });
    const running = await at.start("real", { x: "before" });
    put(at, "broken.yaml", "nodes:\n  - {id: start, kind: trigger}\n  - {id: a, kind: dance}\nedges: []\n");
    put(at, "bomb.yaml", `a: &a [1]\n${Array.from({ length: 30 }, (_, index) => `k${index}: [${Array(30).fill("*a").join(",")}]`).join("\n")}\n`);
    put(at, "nobody.json", '{"nodes": [], "edges": [], "__proto__": {"x": 1}}');
    put(at, "bytes.yaml", "\u0000\u0001");
    put(at, "real.yaml.swp", "x");
    expect((await at.call("POST", "/reload", {})).status).toBe(200);
    const listed = (await at.page("GET", "/api/workflows")).body["workflows"] as {
      definition: { id: string };
      broken: boolean;
      problems: { line: number; code: string; message: string }[];
    }[];
    expect(listed.map(({ definition, broken }) => [definition.id, broken])).toEqual([
      ["bomb", true],
      ["broken", true],
      ["bytes", true],
      ["nobody", true],
      ["real", false],
    ]);
    expect(listed[1]?.problems[0]).toMatchObject({ line: 3, code: "SCHEMA", message: expect.stringContaining("dance") });
    expect(listed[0]?.problems[0]?.message).toContain("100 aliases");
    expect((await at.call("POST", "/workflows/broken/run", {})).status).toBe(422);
    expect((await at.until(running, "completed")).output).toBe("before");
    expect((await at.until(await at.start("real", { x: 2 }), "completed")).output).toBe(2);
    put(at, "broken.yaml", YAML);
    expect((await at.until(await at.start("broken"), "completed")).output).toBe(1);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it("a definition is saved by the one who has read it last: ETag, 412, 400 and 422 with their places", async () => {
    const at = await stage({});
    const created = await at.page("PUT", "/api/workflows/fresh", HELLO);
    expect(created).toMatchObject({ status: 201, body: { id: "fresh", warnings: [], hash: expect.stringMatching(/^[0-9a-f]{64}$/) } });
    const etag = created.body["etag"] as string;
    const changes = await Promise.all(["one", "two", "three"].map((name) => at.page("PUT", "/api/workflows/fresh", { ...HELLO, name }, { "if-match": etag })));
    expect(changes.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    const lost = await at.page("PUT", "/api/workflows/fresh", flow([{ id: "lost", kind: "end" }], "start > gone"));
    expect(lost).toMatchObject({
      status: 422,
      body: { code: "SVC_WORKFLOW_LINT", problems: expect.arrayContaining([expect.objectContaining({ code: "UNKNOWN_NODE", line: expect.any(Number) })]) },
    });
    expect(await at.page("PUT", "/api/workflows/fresh", { nodes: 1 })).toMatchObject({ status: 400, body: { problems: expect.any(Array) } });
    expect((await at.page("PUT", "/api/workflows/fresh", "text")).status).toBe(400);
    expect((await at.page("PUT", "/api/workflows/fresh/layout", { x: "y".repeat(300_000) })).status).toBe(413);
    expect((await at.page("PUT", "/api/workflows/gone/layout", {})).status).toBe(404);
    expect((await at.page("GET", "/api/workflows/gone")).status).toBe(404);
    const read = await fetch(`http://127.0.0.1:${at.kernel.servers.find(({ name }) => name === "dashboard")?.port}/api/workflows/fresh`);
    expect(read.headers.get("etag")).toBe(changes.find(({ status }) => status === 200)?.body["etag"]);
  });

  it("lists come in pages", async () => {
    const at = await stage(Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`w${String(index).padStart(2, "0")}`, HELLO])));
    const first = (await at.page("GET", "/api/workflows")).body;
    expect([first["workflows"], first["next"]]).toEqual([expect.objectContaining({ length: 50 }), "w49"]);
    const rest = (await at.page("GET", `/api/workflows?cursor=${first["next"]}`)).body;
    expect([rest["workflows"], rest["next"]]).toEqual([expect.objectContaining({ length: 10 }), undefined]);
  });
});

describe("drafts", () => {
  it("WF-03 a draft is saved as YAML with its comments, promoted to an active workflow, or put away; nothing is deleted", async () => {
    const at = await stage({});
    put(at, "_drafts/d.yaml", YAML);
    const value = {
      nodes: [
        { id: "start", kind: "trigger" },
        { id: "done", kind: "end", output: 2 },
      ],
      edges: [
        { from: "start", to: "done" },
        { from: "done", to: "start" },
      ],
    };
    const saved = await at.page("PUT", "/api/workflows/drafts/d", value);
    expect(saved).toMatchObject({ status: 200, body: { id: "d", problems: expect.arrayContaining([expect.objectContaining({ severity: "error" })]) } });
    expect(readFileSync(home(at, "_drafts/d.yaml"), "utf8")).toMatch(/^# by hand\n[\s\S]*# the start[\s\S]*output: 2/);
    expect(await at.page("POST", "/api/workflows/drafts/d/promote", {})).toMatchObject({ status: 422, body: { problems: expect.any(Array) } });
    await at.page("PUT", "/api/workflows/drafts/d", { ...value, edges: value.edges.slice(0, 1) });
    const promoted = await at.page("POST", "/api/workflows/drafts/d/promote", {});
    expect(promoted).toMatchObject({ status: 200, body: { id: "d", url: "/workflows/editor?id=d", folds: [] } });
    expect(readFileSync(home(at, "d.yaml"), "utf8")).toContain("# the start");
    expect((await at.page("GET", "/api/workflows/drafts")).body).toEqual({ drafts: [] });
    expect((await at.until(await at.start("d"), "completed")).output).toBe(2);

    put(at, "_drafts/d.yaml", YAML);
    expect(await at.page("POST", "/api/workflows/drafts/d/promote", {})).toMatchObject({ status: 409, body: { code: "SVC_DRAFT_TAKEN" } });
    const rejected = await at.page("POST", "/api/workflows/drafts/d/reject", { reason: "not now" });
    expect(rejected).toMatchObject({ status: 200, body: { ok: true, file: expect.stringMatching(/_drafts\/_rejected\/d\..*\.yaml$/) } });
    expect(readdirSync(home(at, "_drafts/_rejected"))).toHaveLength(1);
    expect((await at.page("POST", "/api/workflows/drafts/d/promote", {})).status).toBe(404);
  });
});
