import { actionContract, createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

function setUp(roots?: string) {
  const content = new Map<string, string | Uint8Array>();
  const ctx = createFakeContext(plugin, { files: createMemoryFiles(content), env: roots === undefined ? {} : { SVC_BUILTIN_FILE_ROOTS: roots } });
  plugin.setup(ctx);
  const [action] = ctx.registered.actions;
  if (!action) throw new Error("no action was provided");
  const write = (path: string, record: Record<string, unknown>) => action.run({ path, record }, { signal: new AbortController().signal, door: "test" });
  return { action, write, content };
}

actionContract({ describe, it }, () => ({
  action: setUp().action,
  works: [{ name: "a record", input: { path: "log.jsonl", record: { nested: { list: [1, null] } } } }],
  refused: [
    { path: "log.jsonl", record: [1] },
    { path: "log.jsonl", record: "text" },
    { path: "log.jsonl", record: null },
    { path: "", record: {} },
  ],
}));

it("ACT-05 keeps one record on one line whatever its strings hold, and counts bytes", async () => {
  const { write, content } = setUp();
  const record = { text: "two\nlines\r\n and ü", empty: {} };
  expect(await write("log.jsonl", record)).toEqual({ path: "log.jsonl", bytes: Buffer.byteLength(`${JSON.stringify(record)}\n`) });
  await write("log.jsonl", { n: 2 });
  const lines = String(content.get("/daemon/log.jsonl")).split("\n");
  expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual([record, { n: 2 }]);
  expect(lines.at(-1)).toBe("");
});

it("ACT-03 writes below the given roots only", async () => {
  const { write, content } = setUp("/data");
  await write("in.jsonl", {});
  for (const path of ["../out.jsonl", "/data-evil/out.jsonl"]) await expect(write(path, {})).rejects.toMatchObject({ code: "SVC_FILE_OUTSIDE" });
  expect([...content.keys()]).toEqual(["/data/in.jsonl"]);
});
