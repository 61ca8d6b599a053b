import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { allImports, read } from "./house.ts";
import { production, ROOMS, sharedNames } from "./sources.ts";

describe("the sources", () => {
  it("no file name stands twice in a package, so that a name in a stack or a search leads to one file", () => {
    expect(sharedNames(production())).toEqual([]);
  });

  it("kernel and sdk name no database: the assembling file alone knows the package of the default store", () => {
    const named = production().filter((path) => /^(kernel|sdk)\//.test(path) && /sqlite/i.test(read(path)));
    expect(named).toEqual(["kernel/create-kernel.ts"]);
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
