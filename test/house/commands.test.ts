import { describe, expect, it } from "vitest";
import { read, tracked } from "./house.ts";

/** Pages of this repository for people who work in it; pages for authors of plugins speak of the author's own package. */
const PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...tracked(".md").filter((path) => /^docs\//.test(path))];
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
const files = [...tracked(".ts"), ...tracked(".mjs"), ...tracked(".sh")];

/** Everything that a page calls a command: spans of code and the lines of its blocks. */
const commands = PAGES.flatMap((page) =>
  [...read(page).matchAll(/```\w*\n([\s\S]*?)```|`([^`\n]+)`/g)]
    .flatMap(([, block, span]) => (block ?? span ?? "").split("\n"))
    .filter((line) => /\b(?:npm|npx)\b/.test(line))
    .map((line) => ({ page, line: line.trim() })),
);
const wrong = (judge: (line: string) => boolean) => commands.filter(({ line }) => !judge(line));

describe("commands of the pages", () => {
  it("are there to be judged", () => {
    expect(commands.length).toBeGreaterThan(30);
    expect(commands.map(({ page }) => page)).toContain("CONTRIBUTING.md");
  });

  it("name scripts that package.json has", () => {
    expect(wrong((line) => [...line.matchAll(/\bnpm run ([\w:-]*\w)/g)].every(([, name]) => Object.hasOwn(scripts, name as string)))).toEqual([]);
  });

  it("run test files and programs that are there", () => {
    const there = (given: string) => files.some((path) => path.startsWith(given.replace(/\/$/, "")));
    const programs = (line: string) => [...line.matchAll(/\bnpx (?:vitest run|jiti) ([\w./-]+)/g)].map(([, given]) => given as string);
    expect(commands.flatMap(({ line }) => programs(line)).length).toBeGreaterThan(3);
    expect(wrong((line) => programs(line).every(there))).toEqual([]);
  });

  it("set variables that something reads", () => {
    const sources = [...files, "package.json", ".ci/run"].map(read).join("\n");
    const set = (line: string) => [...line.matchAll(/\b(SVC_[A-Z_]+)=/g)].map(([, name]) => name as string);
    expect(wrong((line) => set(line).every((name) => sources.includes(`env.${name}`) || sources.includes(`\${${name}`)))).toEqual([]);
  });
});
