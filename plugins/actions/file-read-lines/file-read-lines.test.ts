import { actionContract, createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

function setUp(content: Record<string, string | Uint8Array>, roots?: string) {
  const files = createMemoryFiles(new Map(Object.entries(content)));
  const ctx = createFakeContext(plugin, { files, env: roots === undefined ? {} : { SVC_BUILTIN_FILE_ROOTS: roots } });
  plugin.setup(ctx);
  const [action] = ctx.registered.actions;
  if (!action) throw new Error("no action was provided");
  return (path: string) => action.run({ path }, { signal: new AbortController().signal, door: "test" });
}

actionContract({ describe, it }, () => {
  const ctx = createFakeContext(plugin, { files: createMemoryFiles(new Map([["/daemon/a.txt", "one\ntwo\n"]])) });
  plugin.setup(ctx);
  const [action] = ctx.registered.actions;
  if (!action) throw new Error("no action was provided");
  return {
    action,
    works: [{ name: "a file", input: { path: "a.txt" }, check: (output) => expect(output).toEqual(["one", "two"]) }],
    refused: [{ path: "" }, { path: ["a"] }],
  };
});

it.each([
  ["", []],
  ["\n", [""]],
  ["one", ["one"]],
  ["one\ntwo\n", ["one", "two"]],
  ["one\r\ntwo\r\n", ["one", "two"]],
  ["a\rb\n\n\u2028c\n", ["a\rb", "", "\u2028c"]],
  ["grüße 🙂\n", ["grüße 🙂"]],
])("ACT-04 reads %j as %j: no empty line for the final newline, CRLF stripped", async (text, lines) => {
  expect(await setUp({ "/daemon/f": text })("f")).toEqual(lines);
});

it("ACT-04 refuses more than 8 MiB and takes exactly that", async () => {
  const read = setUp({ "/daemon/fits": "x".repeat(8 * 1024 * 1024), "/daemon/over": "x".repeat(8 * 1024 * 1024 + 1) });
  expect(await read("fits")).toHaveLength(1);
  await expect(read("over")).rejects.toMatchObject({ code: "SVC_FILE_TOO_LARGE" });
});

it("ACT-04 refuses invalid UTF-8 instead of guessing", async () => {
  await expect(setUp({ "/daemon/f": new Uint8Array([0x68, 0xff, 0x0a]) })("f")).rejects.toMatchObject({ code: "SVC_FILE_NOT_TEXT" });
});

it("ACT-03 reads below the given roots only, several joined by the path delimiter", async () => {
  const read = setUp({ "/data/a": "a", "/more/b": "b", "/data-evil/c": "c", "/daemon/d": "d" }, "/data:/more");
  expect(await read("a")).toEqual(["a"]);
  expect(await read("/more/b")).toEqual(["b"]);
  for (const path of ["/data-evil/c", "../data-evil/c", "/daemon/d", "a\0"]) await expect(read(path), path).rejects.toMatchObject({ code: "SVC_FILE_OUTSIDE" });
});
