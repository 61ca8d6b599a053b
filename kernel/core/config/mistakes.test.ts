import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createKernel } from "../../create-kernel.ts";
import { checkConfiguration } from "../../editing.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-mistakes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "svc.json");

async function verdict(content: string | Buffer): Promise<string> {
  writeFileSync(file, content, { mode: 0o600 });
  return checkConfiguration({ file, dataFolder: join(folder, ".svc"), known: [], env: {} }).then(
    ({ problems }) => problems.map(({ path, message, severity }) => `${severity} ${path} ${message}`).join("\n"),
    (error: Error) => error.message,
  );
}
const NAMED = '{ "node": { "id": "n", "name": "Käthe" } }';

it("OPR-m16 refuses a file that is not UTF-8, naming what it is and the line", async () => {
  expect(await verdict(Buffer.from(`{\n${NAMED.slice(1)}`, "latin1"))).toMatch(/svc\.json:2: this line is not UTF-8 \(written in Latin-1 or Windows-1252\?\)/);
  expect(await verdict(Buffer.from(NAMED, "utf16le"))).toContain("UTF-16; save it as UTF-8");
  expect(await verdict(Buffer.from(`\ufeff${NAMED}`, "utf16le"))).toContain("UTF-16");
  expect(await verdict(Buffer.from(`\ufeff${NAMED}`, "utf16le").swap16())).toContain("UTF-16");
  expect(await verdict(`\ufeff${NAMED}`)).toBe("");
});

it.each([
  ["{ 'node': {} }", "double quotes, not in single ones"],
  ["node:\n  id: n\n", "YAML"],
  ["---\nnode: 1\n", "YAML"],
  ["{ node: {} }", 'the key node must stand in double quotes: "node"'],
  ['{ "a": NaN }', "NaN is no number"],
  ['{ "a": True }', "'True' is no value"],
  ['{ "a": hello }', "a text must stand in double quotes"],
  ['{ "a": \u201chello\u201d }', "typographic quotes"],
  ['{ // note\n"a": 1 }', "keep notes in a file beside it"],
  ['{ "a": 1, # note\n"b": 1 }', "keep notes in a file beside it"],
])("OPR-m16 says what %j is and what to do", async (text, words) => {
  expect(await verdict(text)).toContain(words);
});

it("ends its sentences once", async () => {
  for (const text of ['{ "a": 1', '{ "a": [1', "{ 'a'", "a: 1"]) expect(await verdict(text)).toMatch(/[^.?]\.$/);
});

it("OPR-m15 warns of what looks like a reference and is none, without repeating its default", async () => {
  const agent = async (systemPrompt: string) => {
    const told = await verdict(JSON.stringify({ node: { id: "n", name: "N" }, agents: { a: { name: "A", workspace: "w", systemPrompt } } }));
    return told
      .split("\n")
      .filter((line) => line.startsWith("warning"))
      .join("\n");
  };
  expect(await agent("${NAME:-a-default}")).toMatch(/^warning agents\.a\.systemPrompt holds \$\{NAME that is no reference .* write \$\{NAME\}/);
  expect(await agent("${NAME:-a-default}")).not.toContain("a-default");
  expect(await agent("x ${NAME")).toContain("holds ${NAME that");
  expect(await agent("${1}")).toContain("write ${NAME}");
  expect(await agent("a $NAME and $(date) cost 5$")).toBe("");
});

it("tells twenty of a thousand problems and how many more there are", async () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`unknown${at}`, 1]));
  writeFileSync(file, JSON.stringify({ node: { id: "n", name: "N" }, ...many }));
  const error = await createKernel({ config: file }).catch((caught: Error) => caught);
  expect((error as Error).message.split("\n")).toHaveLength(22);
  expect((error as Error).message).toContain("... and 980 more");
});
