import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT, read } from "../house/house.ts";

const BUILT = join(ROOT, "plugins/features/dashboard/dist/ui");
const assets = readdirSync(join(BUILT, "assets"));
const sizeOf = (names: readonly string[]) => names.reduce((sum, name) => sum + statSync(join(BUILT, "assets", name)).size, 0);

it("the pages are packed, and under 400 KB in all", () => {
  const packed = assets.filter((name) => name.endsWith(".br"));
  expect(packed.length).toBeGreaterThan(10);
  expect(assets.filter((name) => /\.(js|css)$/.test(name) && sizeOf([name]) > 512)).toEqual([]);
  expect(sizeOf(assets)).toBeLessThan(400_000);
});

it("every file of the pages has its bytes in its name, and the document nothing inline", () => {
  expect(assets.filter((name) => !/-[\w-]{8}\.(js|css|svg)(\.br)?$/.test(name))).toEqual([]);
  const page = readFileSync(join(BUILT, "index.html"), "utf8");
  expect(page).not.toMatch(/<script(?![^>]+ src=)|<style|style=|\son\w+=/);
});

it("what is bundled is told with its licence, and none of it is needed at run time", () => {
  const told = readFileSync(join(BUILT, "licences.txt"), "utf8");
  for (const name of ["react", "react-dom", "@xyflow/react", "@dnd-kit/core"]) expect(told).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, "m"));
  const { dependencies = {} } = JSON.parse(read("plugins/features/dashboard/package.json")) as { dependencies?: object };
  expect(Object.keys(dependencies).filter((name) => /react|xyflow|dnd-kit|vite/.test(name))).toEqual([]);
});
