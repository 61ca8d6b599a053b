import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { extract, isWanted } from "../kit/forge-b/extract-api.mjs";

const whole = join(import.meta.dirname, "node_modules/@octokit/openapi/generated/api.github.com.json");
if (!existsSync(whole)) console.warn(`skipped: ${whole} is missing; run \`npm run test:peers\` where the registry can be reached`);

it.skipIf(!existsSync(whole))("what the far end of forge_b judges by is what the vendor has published, without its prose", () => {
  const taken = JSON.parse(readFileSync(join(import.meta.dirname, "../kit/forge-b/api.json"), "utf8"));
  expect(Object.keys(taken.paths).length).toBeGreaterThan(100);
  expect(taken).toEqual(JSON.parse(JSON.stringify(extract(JSON.parse(readFileSync(whole, "utf8")), isWanted))));
});
