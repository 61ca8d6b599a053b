import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { injected, ROOT } from "./house.ts";

// `npm run docs`: writes samples and error tables into the documents that carry them.
for (const { file, text, wanted } of await injected()) {
  if (text === wanted) continue;
  writeFileSync(join(ROOT, file), wanted);
  console.log(`updated ${file}`);
}
