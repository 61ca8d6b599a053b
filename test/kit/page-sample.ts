import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";

/** The block of a page that stands right after `<!-- name -->`, word for word. */
export function pageSample(page: string, name: string): string {
  const found = new RegExp(`<!-- ${name} -->\\n\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(readFileSync(join(ROOT, page), "utf8"))?.[1];
  if (found === undefined) throw new Error(`${page} has no sample ${name}`);
  return found;
}
