import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOM = join(import.meta.dirname, "../../plugins/actions");
/** Strings about paths, and a thread for the index so that the loop is never held: neither reaches the system. */
const HARMLESS = ["node:path", "node:worker_threads"];

const sources = readdirSync(ROOM, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".ts") && !file.endsWith(".d.ts") && !file.endsWith(".test.ts") && !/(^|\/)(dist|node_modules)\//.test(file),
);
const importsOf = (source: string) => [...source.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'`]([^"'`]+)["'`]/g)].map(([, specifier = ""]) => specifier);
const withoutComments = (source: string) => source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");

it("ACT-06 finds all eight built-in actions", () => {
  expect(new Set(sources.map((file) => file.split("/")[0])).size).toBe(8);
});

it.each(sources)("ACT-06 %s imports no process or system module and touches no such global", (file) => {
  const source = withoutComments(readFileSync(join(ROOM, file), "utf8"));
  const system = importsOf(source).filter((name) => (name.startsWith("node:") || builtinModules.includes(name)) && !HARMLESS.includes(name));
  expect(system).toEqual([]);
  expect(source.match(/\b(process|globalThis|eval|Function|Deno|Bun)\s*[.([]/g) ?? []).toEqual([]);
  expect(source.match(/(?<![.\w])fetch\s*\(/g) ?? []).toEqual([]);
});
