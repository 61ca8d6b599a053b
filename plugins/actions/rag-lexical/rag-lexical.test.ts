import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Files, Lifecycle } from "@svc/sdk";
import { actionContract, createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
// The built plugin: its thread is a file of its own.
import plugin from "./dist/index.js";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), "rag-"));
  const content = new Map<string, string | Uint8Array>([
    ["/ws/notes/pump.md", "# Pumps\n\nA pump moves water.\n\nThe valve of the pump leaks since Monday.\n"],
    ["/ws/notes/tea.md", "Tea wants fresh water.\n"],
    ["/ws/cafe.txt", "Das Café öffnet um neun.\n"],
    ["/ws/.secret/key.md", "pump pump pump\n"],
    ["/ws/node_modules/x/readme.md", "pump pump pump\n"],
    ["/ws/picture.bin", new Uint8Array([112, 117, 109, 112, 0, 1])],
    ["/ws/huge.txt", `pump ${"x".repeat(1024 * 1024)}`],
  ]);
  const memory = createMemoryFiles(content);
  const own: Files["own"] = {
    ...memory.own,
    roots: [folder],
    resolve: async (path) => join(folder, path),
    list: async () => (existsSync(join(folder, "main.db")) ? [{ name: "main.db", kind: "file", size: 1, mtimeMs: 1 }] : []),
    remove: (path) => rm(join(folder, path), { force: true }),
  };
  const ctx = createFakeContext(plugin, {
    files: { ...memory, own },
    agents: [
      { id: "main", workspace: "/ws" },
      { id: "other", workspace: "/nowhere" },
    ],
  });
  const life = plugin.setup(ctx) as Lifecycle;
  await life.start?.();
  cleanups.push(async () => {
    ctx.end();
    await life.stop?.();
    await rm(folder, { recursive: true });
  });
  const action = ctx.registered.actions[0]!;
  const search = async (query: string, more: Record<string, unknown> = {}) =>
    (
      (await action.run({ agentId: "main", query, ...more }, { signal: new AbortController().signal, door: "test" })) as {
        results: { path: string; line: number; score: number; snippet: string }[];
      }
    ).results;
  const index = () => ctx.request("POST", "/api/agents/main/index");
  return { ctx, action, search, index, content, folder };
}

describe("rag.lexical", () => {
  actionContract({ describe, it }, async () => {
    const { action, index } = await setUp();
    await index();
    return {
      action,
      works: [
        { name: "a word", input: { agentId: "main", query: "pump" } },
        { name: "nothing found", input: { agentId: "main", query: "zebra", limit: 100 }, check: (output) => expect(output).toEqual({ results: [] }) },
      ],
      refused: [
        { agentId: "main", query: "" },
        { agentId: "main", query: "x", limit: 0 },
        { agentId: "main", query: "x", limit: 101 },
        { agentId: "main", query: "x", limit: 1.5 },
      ],
    };
  });

  it("ACT-12 calls a missing index an error that names the command, never an empty answer", async () => {
    const { search } = await setUp();
    await expect(search("pump")).rejects.toMatchObject({ code: "SVC_INDEX_MISSING", message: expect.stringContaining("svc agent index main") });
    await expect(search("pump", { agentId: "nobody" })).rejects.toMatchObject({ code: "SVC_AGENT_UNKNOWN" });
  });

  it("ACT-12 ranks by BM25 and tells path, line, score and the words around", async () => {
    const { search, index } = await setUp();
    expect((await index()).body).toMatchObject({ agent: "main", files: 4, read: 4, removed: 0, pieces: 3 });
    const results = await search("which VALVE leaks water?");
    expect(results.map(({ path }) => path)).toEqual(["notes/pump.md", "notes/tea.md"]);
    expect(results[0]).toMatchObject({ line: 3, snippet: expect.stringContaining("A pump moves water. The valve") });
    expect(results[0]!.score).toBeGreaterThan(results[1]!.score);
    expect((await search("leaks"))[0]).toMatchObject({ path: "notes/pump.md", line: 5 });
    expect(await search("water", { limit: 1 })).toHaveLength(1);
  });

  it("finds words in spite of accents and letter case, and takes no word for an operator", async () => {
    const { search, index } = await setUp();
    await index();
    expect((await search("cafe"))[0]?.path).toBe("cafe.txt");
    expect((await search("ÖFFNET"))[0]?.path).toBe("cafe.txt");
    for (const query of ['pump" OR "', "NEAR(pump", "pump*", "text:pump", "NOT pump", "(pump AND", "^pump", "pump\0"]) {
      expect((await search(query))[0]?.path, query).toBe("notes/pump.md");
    }
    await expect(search('"*()')).rejects.toMatchObject({ code: "SVC_INDEX_QUERY" });
  });

  it("leaves hidden and build folders, binary and huge files out", async () => {
    const { search, index } = await setUp();
    await index();
    expect((await search("pump")).map(({ path }) => path)).toEqual(["notes/pump.md"]);
  });

  it("reads only what has changed, and forgets what is gone", async () => {
    const { search, index, content } = await setUp();
    await index();
    content.set("/ws/notes/tea.md", "Tea wants milk now.\n");
    content.set("/ws/new.md", "A zebra.\n");
    content.delete("/ws/notes/pump.md");
    expect((await index()).body).toMatchObject({ files: 4, read: 2, removed: 1, pieces: 3 });
    expect(await search("pump")).toEqual([]);
    expect(await search("water")).toEqual([]);
    expect((await search("zebra milk")).map(({ path }) => path).sort()).toEqual(["new.md", "notes/tea.md"]);
    expect((await index()).body).toMatchObject({ read: 0, removed: 0 });
  });

  it("keeps an index fresh in the background once it is there, and makes none unasked", async () => {
    const { ctx, search, index, content } = await setUp();
    const job = ctx.registered.jobs.find(({ kind }) => kind === "every")!;
    await job.run(new Date());
    await expect(search("pump")).rejects.toMatchObject({ code: "SVC_INDEX_MISSING" });
    await index();
    content.set("/ws/new.md", "A zebra.\n");
    // The rest after a run is a multiple of its length: of next to nothing here.
    const refreshed = async () => {
      await job.run(new Date());
      return search("zebra");
    };
    await expect.poll(refreshed, { timeout: 20_000 }).toHaveLength(1);
  });

  it("streams progress to who asks for events", async () => {
    const { ctx } = await setUp();
    const { events } = await ctx.request("POST", "/api/agents/main/index", { headers: { accept: "text/event-stream" } });
    expect(events[0]).toMatchObject({ name: "progress", data: { files: 4 } });
    expect(events.at(-1)).toMatchObject({ name: "done", data: { agent: "main", files: 4, read: 4 } });
    const failed = await ctx.request("POST", "/api/agents/other/index", { headers: { accept: "text/event-stream" } });
    expect(failed.events).toMatchObject([{ name: "error", data: { code: "SVC_FILE_MISSING" } }]);
    expect(await ctx.request("POST", "/api/agents/nobody/index")).toMatchObject({ status: 404, body: { code: "SVC_AGENT_UNKNOWN" } });
  });

  it("joins a second request to the run that is under way", async () => {
    const { index } = await setUp();
    const [first, second] = await Promise.all([index(), index()]);
    expect(second?.body).toEqual(first?.body);
  });

  it("builds a damaged index anew", async () => {
    const { search, index, folder } = await setUp();
    await writeFile(join(folder, "main.db"), "this is no database ".repeat(1000));
    await expect(search("pump")).rejects.toMatchObject({ code: "SVC_INDEX_FAILED" });
    await index();
    expect(await search("pump")).toHaveLength(1);
  });
});
