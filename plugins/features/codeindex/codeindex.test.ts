import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeContext } from "@svc/sdk/testing";
import { afterAll, describe, expect, it } from "vitest";
import { openCodeDatabase } from "./code-database.ts";
import { createCodeReader } from "./grammars.ts";
import plugin from "./index.ts";
import { LANGUAGES, languageOf } from "./languages.ts";

const folder = mkdtempSync(join(tmpdir(), "code-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Code of each language, and what it defines, with what that stands in. */
const SAMPLES: Readonly<Record<string, readonly [code: string, defines: readonly string[]]>> = {
  typescript: [
    `export class Cart<T> { size = 1; constructor(readonly shop: string) {} add(item: T): void { const local = 1; } }
interface Item { name: string; price(): number }
type Id = string; enum Color { Red, Blue = 2 } const LIMIT = 3; export const run = async () => { let x = 1; };
namespace Space { export function inner() {} } function* gen() {} declare function told(): void; [1].map((y) => { const hidden = y; });`,
    "class Cart, property Cart.size, method Cart.constructor, property Cart.constructor.shop, method Cart.add, interface Item, property Item.name, method Item.price, type Id, enum Color, enumerator Color.Red, enumerator Color.Blue, variable LIMIT, function run, namespace Space, function Space.inner, function gen, function told".split(
      ", ",
    ),
  ],
  tsx: ["export const Page = () => <p>{name}</p>;", ["function Page"]],
  javascript: [
    "class A { b = 1; c() {} }\nexports.go = function () {};\nconst o = { m: () => 1 };",
    ["class A", "property A.b", "method A.c", "function go", "variable o", "method o.m"],
  ],
  python: [
    "import os\nLIMIT = 1\na, b = 1, 2\nclass A:\n    x = 1\n    async def m(self):\n        local = 1\n        def inner(): pass\n",
    ["variable LIMIT", "variable a", "variable b", "class A", "variable A.x", "method A.m", "function A.m.inner"],
  ],
  go: [
    "package shop\nconst (\n\tA = iota\n\tB\n)\ntype Cart struct { Size int; sync.Mutex }\nfunc (c *Cart) Add() { x := 1 }\ntype I interface { Do() }\nvar V int\n",
    [
      "package shop",
      "constant A",
      "constant B",
      "struct Cart",
      "field Cart.Size",
      "field Cart.Mutex",
      "method Add",
      "interface I",
      "method I.Do",
      "variable V",
    ],
  ],
  c: [
    "#define MAX 3\n#define ADD(a) a\ntypedef struct point { int x, *y; } point_t;\nenum color { RED };\nint *find(int a) { int local; return 0; }\nnamespace n { class A { void m(); ~A(); int operator+(int); }; }\nvoid n::A::m() {}\n",
    [
      "macro MAX",
      "macro ADD",
      "type point_t",
      "struct point",
      "field point.x",
      "field point.y",
      "enum color",
      "enumerator color.RED",
      "function find",
      "namespace n",
      "class n.A",
      "method n.A.m",
      "function m",
    ],
  ],
  java: [
    "class A { int f; void m() {} enum E { X } } interface I { void n(); }",
    ["class A", "field A.f", "method A.m", "enum A.E", "enumerator A.E.X", "interface I", "method I.n"],
  ],
  rust: [
    "struct P { x: i32 } enum E { A } trait T { fn t(&self); } fn f() { let l = 1; } const C: i32 = 1; mod m { pub fn g() {} } macro_rules! mac { () => {} }",
    ["struct P", "field P.x", "enum E", "enumerator E.A", "interface T", "function f", "constant C", "namespace m", "function m.g", "macro mac"],
  ],
  ruby: [
    "module M\n  class A\n    LIMIT = 1\n    def go; end\n    def self.make; end\n  end\nend",
    ["namespace M", "class M.A", "constant M.A.LIMIT", "method M.A.go", "method M.A.make"],
  ],
  php: [
    "<?php class A { const C = 1; public $p; function m() {} } function f() {} interface I {}",
    ["class A", "constant A.C", "property A.p", "method A.m", "function f", "interface I"],
  ],
  "c-sharp": [
    "namespace N { class A { int f; public int P { get; set; } void M() {} } enum E { X } }",
    ["namespace N", "class N.A", "field N.A.f", "property N.A.P", "method N.A.M", "enum N.E", "enumerator N.E.X"],
  ],
  bash: ["LIMIT=1\ngo() { echo hi; }", ["variable LIMIT", "function go"]],
};

describe("what code defines", () => {
  it("every language has a sample here", () => expect(Object.keys(SAMPLES)).toEqual(Object.keys(LANGUAGES)));

  it.each(Object.entries(SAMPLES))("of %s, local variables left out", async (language, [code, defines]) => {
    const reader = await createCodeReader();
    await reader.load(language);
    const found = reader.definitions(language, code).map(({ kind, container, name }) => `${kind} ${container === "" ? "" : `${container}.`}${name}`);
    for (const one of defines) expect(found).toContain(one);
    for (const hidden of ["local", "hidden", "x1"]) expect(found.join()).not.toMatch(new RegExp(`\\b${hidden}\\b`));
  });

  it("places of a name leave out comments and strings, and code of any brokenness is read", async () => {
    const reader = await createCodeReader(600_000);
    await reader.load("typescript");
    const code = 'const add = 1;\n// add\nuse(add, "add");\nconst added = add;\n';
    expect(reader.places("typescript", code, "add").map(({ line }) => line)).toEqual([1, 3, 4]);
    for (const broken of ["class {{{{", "\u0000\ufffd", "}".repeat(10_000), "(".repeat(20_000), "a".repeat(100_000)])
      expect(Array.isArray(reader.definitions("typescript", broken))).toBe(true);
  });

  it("a file that takes too long is given up, and the next one is read as ever", async () => {
    const reader = await createCodeReader(1_000);
    await reader.load("typescript");
    // Read to its end it would take hours: the time grows with the square of what is open.
    const endless = "(".repeat(1_000_000);
    expect(() => reader.definitions("typescript", endless)).toThrow("it takes longer than 1 s to read");
    expect(() => reader.places("typescript", endless, "(")).toThrow("it takes longer than 1 s to read");
    expect(reader.definitions("typescript", "function add() {}").map(({ name }) => name)).toEqual(["add"]);
  });

  it("knows languages by the end of a name", () => {
    expect(["a.TS", "b/c.py", "x.h", "y.tsx", "README.md", "png", "a.ts.bak"].map(languageOf)).toEqual([
      "typescript",
      "python",
      "c",
      "tsx",
      undefined,
      undefined,
      undefined,
    ]);
  });
});

it("an index that is damaged or of another layout is told, and its files are replaced as one", () => {
  const file = join(folder, "a.db");
  const db = openCodeDatabase(file);
  const stored = { path: "a.ts", mtimeMs: 1, size: 1, language: "typescript", words: "alpha $beta" };
  const definition = { name: "alpha", kind: "function", line: 1, endLine: 2, container: "", text: "x" };
  db?.put([{ ...stored, definitions: [definition, { ...definition, name: "Alphabet" }] }]);
  db?.put([{ ...stored, mtimeMs: 2, definitions: [definition], words: "alpha" }]);
  expect(db?.definitions("alpha", 9)).toHaveLength(1);
  expect(db?.definitions("ALPHA", 9)).toEqual([]);
  expect(db?.definitions("lph", 9, true)).toHaveLength(1);
  expect(db?.having("alpha", 9)).toHaveLength(1);
  expect(db?.having("$beta", 9)).toEqual([]);
  for (const word of ['x" OR "', "*", "", 'NEAR("', "a".repeat(10_000)]) expect(db?.having(word, 9)).toEqual([]);
  expect([db?.complete, db?.counts()]).toEqual([false, { files: 1, definitions: 1, skipped: 0 }]);
  db?.drop(["a.ts", "none.ts"]);
  expect(db?.counts()).toEqual({ files: 0, definitions: 0, skipped: 0 });
  db?.finish();
  expect(db?.complete).toBe(true);
  db?.close();
});

it("registers a tool and a route, and reads nothing before it is asked", () => {
  const context = createFakeContext(plugin, {
    agents: [
      { id: "a", workspace: "/w", settings: { codeindex: true } },
      { id: "b", workspace: "/w" },
    ],
  });
  plugin.setup(context);
  expect(context.registered.routes.map(({ method, path, guard }) => `${method} ${path} ${guard}`)).toEqual(["POST /api/agents/:id/code-index peer"]);
  const [tool] = context.registered.tools;
  expect([tool?.name, tool?.for?.("a"), tool?.for?.("b"), tool?.for?.("none")]).toEqual(["svc_code", true, false, false]);
});
