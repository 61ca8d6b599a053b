import { existsSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { allImports, ROOT, read, tracked } from "./house.ts";
import { codeOnly, linesOf, production, ROOMS, sharedNames, undocumented } from "./sources.ts";

describe("the sources", () => {
  it("no file name stands twice in a package, so that a name in a stack or a search leads to one file", () => {
    expect(sharedNames(production())).toEqual([]);
  });

  it("kernel and sdk name no database: one assembling file alone knows the package of the default store", () => {
    const named = production().filter((path) => /^(kernel|sdk)\//.test(path) && /sqlite/i.test(read(path)));
    expect(named).toEqual(["kernel/host-parts.ts"]);
  });

  it("no file is longer than 350 lines; the linter holds functions to 120", () => {
    expect([...production(), ...tracked(".css")].filter((path) => linesOf(path) > 350)).toEqual([]);
    const { linter } = JSON.parse(read("biome.json"));
    expect(linter.rules.complexity.noExcessiveLinesPerFunction).toEqual({ level: "error", options: { maxLines: 120 } });
  });

  it("a test of a room that replaces modules or sets the time zone has a process of its own, and vitest.config.ts names it", () => {
    const changes = /\bvi\.(?:mock|doMock)\(|process\.env\.TZ = /;
    const replacing = tracked(".test.ts").filter((path) => /^(sdk|kernel|cli|plugins)\//.test(path) && changes.test(read(path)));
    const named = (list: string) => {
      const [, text = ""] = new RegExp(`const ${list} = \\[([^\\]]*)\\]`).exec(read("vitest.config.ts")) ?? [];
      return [...text.matchAll(/"([^"]+)"/g)].map(([, path]) => path);
    };
    expect(named("LEAVE_TRACES")).toEqual(replacing);
    const small = named("WANT_SMALL_PROCESS");
    expect(small.length).toBeGreaterThan(0);
    expect(tracked(".test.ts")).toEqual(expect.arrayContaining(small));
  });

  it("every export has a sentence", () => {
    expect(production().flatMap(undocumented)).toEqual([]);
  });

  it("speak the field's words", () => {
    const houseWords =
      /\b(?:\w*Ground|\w*Lender|[kK]eeper|[iI]ncarnation|[sS]tandIn\w*|[wW]ayOut|[uU]pkeep|LifeNews|openDoors|Inside|halt|Letter|defineProperties)\b/g;
    const found = production().flatMap((path) => [...codeOnly(read(path)).matchAll(houseWords)].map(([word]) => `${path}: ${word}`));
    expect(found).toEqual([]);
    const riddles = /\b(?:[Ww]hoever|what is no|can not|in words)\b/;
    const lines = production().flatMap((path) =>
      read(path)
        .split("\n")
        .flatMap((line, at) => (riddles.test(line) ? [`${path}:${at + 1}`] : [])),
    );
    expect(lines).toEqual([]);
    expect(codeOnly('const halt = "Letter"; // halt\n/* halt */ halt')).toBe("const halt = ; \n halt");
  });
});

describe("the rooms of the kernel", () => {
  const sources = production().filter((path) => /^kernel\/\w+\//.test(path));
  const roomOf = (path: string) => path.split("/")[1] as string;

  it("are those of the plan, each a project that refers to the rooms it may import", () => {
    expect([...new Set(sources.map(roomOf))].sort()).toEqual(Object.keys(ROOMS).sort());
    for (const [room, others] of Object.entries(ROOMS)) {
      const { references } = JSON.parse(read(`kernel/${room}/tsconfig.json`)) as { references: { path: string }[] };
      expect([room, ...references.map(({ path }) => path)]).toEqual([room, "../../sdk", ...others.map((other) => `../${other}`)]);
    }
  });

  it("the core is at most 8,500 lines", () => {
    const lines = sources.filter((path) => roomOf(path) === "core").reduce((sum, path) => sum + linesOf(path), 0);
    expect(lines).toBeGreaterThan(5_000);
    expect(lines).toBeLessThanOrEqual(8_500);
  });

  it("import in the drawn direction only", () => {
    const wrong = sources.flatMap((path) =>
      allImports(read(path))
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => normalize(join(dirname(path), specifier)))
        .filter((target) => roomOf(target) !== roomOf(path) && !ROOMS[roomOf(path)]?.includes(roomOf(target)))
        .map((target) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe("CONTRIBUTING.md", () => {
  const page = read("CONTRIBUTING.md");

  it("draws every room of the kernel and of its core", () => {
    const plan = page.slice(page.indexOf("```"), page.indexOf("## One message"));
    const drawn = [...plan.matchAll(/^ {2,4}([a-z-]+)\/ /gm)].map(([, name]) => name as string);
    const folders = (parent: string) => readdirSync(join(ROOT, parent), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    const rooms = [...folders("kernel").filter((name) => existsSync(join(ROOT, "kernel", name, "tsconfig.json"))), ...folders("kernel/core")];
    expect(drawn.sort()).toEqual(rooms.sort());
  });

  it("reads POST /task in at most eight files, each of which is there", () => {
    const order = page.slice(page.indexOf("is read in this order:"), page.indexOf("## Who may import whom"));
    const files = [...order.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path]) => path as string);
    expect(files.length).toBeGreaterThan(4);
    expect(files.length).toBeLessThanOrEqual(8);
    expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("has a glossary of at most 25 words", () => {
    const glossary = page.slice(page.indexOf("## Glossary"), page.indexOf("## Add a first-party plugin"));
    const words = [...glossary.matchAll(/^\| ([^|]+) \|/gm)].length - 1;
    expect(words).toBeGreaterThan(15);
    expect(words).toBeLessThanOrEqual(25);
  });

  it("names no file of the tree that is not there", () => {
    const named = [...page.matchAll(/`((?:kernel|sdk|cli|test|plugins)\/[\w./-]+)`/g)].map(([, path]) => path as string);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
