import { basename } from "node:path";
import { read, tracked } from "./house.ts";

/** Production sources: TypeScript of the packages, that of pages too, without tests, fakes, templates and fixtures. */
export const production = (): string[] =>
  tracked(".ts", ".tsx").filter(
    (path) => /^(sdk|kernel|cli|plugins)\//.test(path) && !/\.(test|harness|d)\.tsx?$/.test(path) && !/(^|\/)(template|fixtures|dist)\//.test(path),
  );

/** The npm package of a source, as its folder: `kernel`, `plugins/tiers/local`. */
export const packageOf = (path: string): string => (path.startsWith("plugins/") ? path.split("/").slice(0, 3).join("/") : (path.split("/")[0] as string));

const EXPORT = /^export (?:default )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/;

/** Exported declarations without a doc comment: `file: name`. A row of overloads or of one declaration's lines counts once. */
export function undocumented(path: string): string[] {
  const lines = read(path).split("\n");
  const missing = lines.flatMap((line, at) => {
    const name = line.match(EXPORT)?.[1];
    const before = lines[at - 1]?.trim() ?? "";
    if (name === undefined || before.endsWith("*/") || before.startsWith(`export function ${name}(`)) return [];
    return [`${path}: ${name}`];
  });
  return [...new Set(missing)];
}

/** Base names that stand twice in one package, each with its places. Entry files (`index.ts`) are found by their folder. */
export function sharedNames(paths: readonly string[]): string[] {
  const places = new Map<string, string[]>();
  for (const path of paths.filter((file) => basename(file) !== "index.ts")) {
    const key = `${packageOf(path)} ${basename(path)}`;
    places.set(key, [...(places.get(key) ?? []), path]);
  }
  return [...places.values()].filter((found) => found.length > 1).map((found) => found.join(" and "));
}

/** Rooms of the kernel and the rooms that each may import: the arrows of the plan in CONTRIBUTING.md. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  sources: ["base"],
  core: ["base", "sources"],
  lanes: ["base", "core"],
  actions: ["base", "core"],
  schedule: ["base", "core"],
  media: ["base", "core", "capabilities"],
  capabilities: ["base"],
  delivery: ["base", "core"],
  http: ["base", "core"],
  isolation: ["base", "sources", "core", "capabilities"],
  supply: ["base", "sources", "core", "capabilities", "isolation"],
  status: ["base", "core"],
  maintenance: ["base", "core"],
  editor: ["base", "sources", "core", "supply"],
  rehearsal: ["base", "sources", "core", "delivery", "isolation", "editor"],
};

/** Lines of a file. */
export const linesOf = (path: string): number => read(path).split("\n").length - 1;

/** A source without its comments and the text of its strings, line by line as it was. */
export function codeOnly(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|(?<![:"'`\\])\/\/.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, (text) => "\n".repeat(text.split("\n").length - 1));
}
