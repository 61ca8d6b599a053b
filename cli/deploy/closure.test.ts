import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { closure } from "./closure.ts";

let folder: string | undefined;
afterEach(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

/** A package at that place of the tree. */
function lay(at: string, name: string, dependencies: readonly string[] = []): string {
  const place = join(folder as string, at);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ name, dependencies: Object.fromEntries(dependencies.map((one) => [one, "1.0.0"])) }));
  return place;
}

it("of an installation by npm install -g the program itself is sent, and what it needs lies beside it there", () => {
  folder = mkdtempSync(join(tmpdir(), "svc-closure-"));
  const cli = lay("@svc/cli", "@svc/cli", ["@svc/kernel", "vendor", "absent"]);
  const kernel = lay("@svc/cli/node_modules/@svc/kernel", "@svc/kernel", ["deep"]);
  lay("@svc/cli/node_modules/@svc/kernel/node_modules/deep", "deep");
  lay("@svc/cli/node_modules/vendor", "vendor", ["other"]);
  lay("@svc/cli/node_modules/other", "other");
  lay("@svc/cli/node_modules/nobody-needs-it", "nobody-needs-it");
  expect(closure([kernel], cli).map(({ to, workspace }) => [to, workspace])).toEqual([
    ["node_modules/@svc/cli", false],
    ["node_modules/@svc/kernel", false],
    ["node_modules/@svc/kernel/node_modules/deep", false],
    ["node_modules/other", false],
    ["node_modules/vendor", false],
  ]);
});

it("where the packages lie beside one another, the program is one of them", () => {
  folder = mkdtempSync(join(tmpdir(), "svc-closure-"));
  const [cli, kernel] = [lay("node_modules/@svc/cli", "@svc/cli", ["@svc/kernel"]), lay("node_modules/@svc/kernel", "@svc/kernel")];
  expect(closure([cli, kernel], cli).map(({ to }) => to)).toEqual(["node_modules/@svc/cli", "node_modules/@svc/kernel"]);
});
