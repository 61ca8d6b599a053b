import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { sampleText } from "./sample.ts";

/** Placeholder text of the template. */
const UNWRITTEN = "say here in two sentences what it is good for";

/** Returns the missing part of a package's README; undefined when it is complete, or absent. */
export function readmeTrouble(folder: string): string | undefined {
  const file = join(folder, "README.md");
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, "utf8");
  if (text.includes(UNWRITTEN)) return `README.md still holds the template's words: "${UNWRITTEN}"`;
  const sample = sampleText(folder);
  if (sample === undefined) return undefined;
  const wanted = parsed(sample);
  const shown = [...text.matchAll(/```jsonc?\n([\s\S]*?)```/g)].map(([, block]) => parsed(block as string));
  return shown.some((block) => isDeepStrictEqual(block, wanted)) ? undefined : "README.md shows no ```json block that is what sample.json is";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
