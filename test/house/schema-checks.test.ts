import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { standaloneModule } from "../../kernel/base/schema/standalone.ts";
import { ROOT, read } from "./house.ts";
import { schemaUses } from "./schema-checks.mjs";

it("the build has compiled every schema that it can know, and none of an earlier build is left (npm run build mends it)", async () => {
  const stale: string[] = [];
  const leftOut: string[] = [];
  for (const { file, uses } of await schemaUses()) {
    const wanted = standaloneModule(uses);
    if (!existsSync(join(ROOT, file)) || read(file) !== wanted) stale.push(file);
    const distinct = new Set(uses.map(({ schema, reading }) => `${reading} ${JSON.stringify(schema)}`));
    if (wanted.split("\n").filter((line) => /^ {2}"/.test(line)).length !== distinct.size) leftOut.push(file);
  }
  expect({ stale, leftOut }).toEqual({ stale: [], leftOut: [] });
});
