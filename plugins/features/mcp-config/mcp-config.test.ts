import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFakeContext, createMemoryFiles, createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

const FILE = "/ws/.mcp.json";
const search = { command: "search", args: ["--stdio"] };
const wiki = { type: "http", url: "https://wiki.example.org/mcp" };

/** Starts the plugin again and again on one workspace, as restarts do. */
function setUp(before?: string) {
  const files = new Map<string, string | Uint8Array>(before === undefined ? [] : [[FILE, before]]);
  const store = createMemoryStore();
  const text = () => {
    const content = files.get(FILE);
    return content === undefined ? undefined : typeof content === "string" ? content : new TextDecoder().decode(content);
  };
  return {
    files,
    text,
    json: () => JSON.parse(text() ?? "null"),
    async start(mcp: Record<string, unknown> | undefined, more: readonly { id: string; workspace: string; settings: Record<string, unknown> }[] = []) {
      const agents = [{ id: "ada", workspace: "/ws", settings: mcp === undefined ? {} : { mcp } }, ...more];
      const context = createFakeContext(plugin as never, { agents, store, files: createMemoryFiles(files) });
      const lifecycle = plugin.setup(context as never);
      await lifecycle?.start?.();
      return context.logged.filter(({ level }) => level === "error").map(({ text }) => text);
    },
  };
}

describe("svc mcp", () => {
  it("ENG-5 is told where its daemon is, however it is started, and keeps what the operator says", async () => {
    const { json, start } = setUp();
    const by = (command: string, ...args: string[]) => ({ command, args });
    await start({
      plain: by("svc", "mcp", "--agent", "ada"),
      npx: by("npx", "svc", "mcp", "--agent", "ada"),
      node: by("node", "/opt/svc/cli/bin/svc.cjs", "mcp", "--agent", "ada"),
      told: { ...by("svc", "mcp", "--agent", "ada"), env: { SVC_CONFIG: "/other/svc.json" } },
      foreign: by("mcp", "--agent", "svc"),
    });
    const found = Object.fromEntries(
      Object.entries(json().mcpServers as Record<string, { env?: { SVC_CONFIG?: string } }>).map(([name, { env }]) => [name, env?.SVC_CONFIG]),
    );
    expect(found).toEqual({ plain: "/daemon/svc.json", npx: "/daemon/svc.json", node: "/daemon/svc.json", told: "/other/svc.json", foreign: undefined });
  });
});

describe("CFG-19 writing .mcp.json", () => {
  it("CFG-19 makes the file, and none for an agent without servers", async () => {
    const some = setUp();
    await some.start({ search, wiki });
    expect(some.json()).toEqual({ mcpServers: { search, wiki } });
    const none = setUp();
    await none.start(undefined);
    expect(none.text()).toBeUndefined();
  });

  it("CFG-19 an entry changed by hand survives every start, byte for byte", async () => {
    const { files, text, start } = setUp();
    await start({ search, wiki });
    const edited = (text() as string).replace('"--stdio"', '"--stdio",   "--verbose"');
    files.set(FILE, edited);
    await start({ search, wiki });
    await start({ search, wiki });
    expect(text()).toBe(edited);
    await start({ search: { command: "search-2" }, wiki });
    expect(text()).toBe(edited);
  });

  it("CFG-19 servers, keys, comments and layout of others keep their bytes when ours change", async () => {
    const before = '{\r\n\t// by hand\r\n\t"mcpServers": {\r\n\t\t"mine": { "command": "x" ,  "args":[ 1 ] }\r\n\t},\r\n\t"other": [1,\t2]\r\n}\r\n';
    const { text, start } = setUp(before);
    await start({ search });
    expect(text()).toContain('"mine": { "command": "x" ,  "args":[ 1 ] }');
    expect(text()).toContain('"other": [1,\t2]\r\n}\r\n');
    expect(text()).toContain("// by hand");
    expect(text()).toContain('"search": {');
    expect(text()?.replaceAll("\r\n", "")).not.toContain("\n");
    await start({});
    expect(text()).not.toContain("search");
    expect(text()).toContain('"mine": { "command": "x" ,  "args":[ 1 ] }');
  });

  it.each(["{}", '{"mcpServers":{}}', '{ "a": 1 }', '{"mcpServers":{"mine":{"command":"x"}}}', '{\n    "mcpServers": {\n    }\n}'])(
    "CFG-19 writes into %s and takes its own out again",
    async (before) => {
      const { json, start } = setUp(before);
      await start({ search, wiki });
      expect(json()).toMatchObject({ ...JSON.parse(before), mcpServers: { ...JSON.parse(before).mcpServers, search, wiki } });
      await start({ search: { command: "search-2" } });
      expect(json().mcpServers).toEqual({ ...JSON.parse(before).mcpServers, search: { command: "search-2" } });
      await start({});
      expect(json().mcpServers).toEqual(JSON.parse(before).mcpServers ?? {});
    },
  );

  it("CFG-19 an entry removed by hand stays away until the configuration changes", async () => {
    const { files, json, start } = setUp();
    await start({ search, wiki });
    files.set(FILE, JSON.stringify({ mcpServers: { wiki } }));
    await start({ search, wiki });
    expect(json()).toEqual({ mcpServers: { wiki } });
    await start({ search: { command: "search-2" }, wiki });
    expect(json().mcpServers.search).toEqual({ command: "search-2" });
  });

  it("CFG-19 a server that was there before ours of the same name stays as it was", async () => {
    const { json, start } = setUp(JSON.stringify({ mcpServers: { search: { command: "own" } } }));
    await start({ search });
    expect(json().mcpServers.search).toEqual({ command: "own" });
  });

  it("follows the configuration where nobody edited: changed entries change, removed ones go", async () => {
    const { json, start } = setUp();
    await start({ search, wiki });
    await start({ search: { command: "search-2" } });
    expect(json()).toEqual({ mcpServers: { search: { command: "search-2" } } });
  });

  it.each(["{ not json", "[]", '{"mcpServers": []}', '"text"'])("leaves %s as it is and says so", async (broken) => {
    const { text, start } = setUp(broken);
    expect(await start({ search })).toEqual([expect.stringContaining("left as it is")]);
    expect(text()).toBe(broken);
  });

  it("refuses a variable that makes programs load code, and writes the other servers", async () => {
    const { json, start } = setUp();
    expect(await start({ search, evil: { command: "x", env: { NODE_OPTIONS: "--require ./x" } } })).toEqual([expect.stringContaining("NODE_OPTIONS")]);
    expect(json()).toEqual({ mcpServers: { search } });
  });

  it("joins agents that share a workspace, and names a clash", async () => {
    const { json, start } = setUp();
    const second = { id: "ben", workspace: "/ws", settings: { mcp: { wiki, search: { command: "another" } } } };
    expect(await start({ search }, [second])).toEqual([expect.stringContaining("agents.ben.mcp.search")]);
    expect(json()).toEqual({ mcpServers: { search, wiki } });
  });
});

it("shows a sample that it understands", async () => {
  const sample = JSON.parse(readFileSync(join(import.meta.dirname, "sample.json"), "utf8"));
  const { json, start } = setUp();
  expect(await start(sample.agents.ada.mcp)).toEqual([]);
  expect(json().mcpServers).toEqual(sample.agents.ada.mcp);
});
