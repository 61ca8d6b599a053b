import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Worked examples, each a folder below `examples` of this package: they run on the tier `local`, without a key or a network. */
export const EXAMPLES = ["approval", "nightly-report", "review", "webhook-issue", "saga"] as const;

/** An example's definition as YAML, with its comments; undefined for one that does not exist. */
export function readExample(name: string): string | undefined {
  if (!(EXAMPLES as readonly string[]).includes(name)) return undefined;
  // The package's own folder, whether it runs from its sources or built.
  const home = dirname(createRequire(import.meta.url).resolve("@svc/feature-workflows/package.json"));
  return readFileSync(join(home, "examples", name, "workflow.yaml"), "utf8");
}
