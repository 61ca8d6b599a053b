import { readdirSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { isExecutable, requireExecutable } from "@svc/sdk/engine";

const PLATFORM_PACKAGE = `codex-${process.platform}-${process.arch}`;

/**
 * The native program behind `command`: npm installs a launcher under its name, and what a launcher started outlives it.
 * Throws `SVC_TIER_PROGRAM` naming what was looked for.
 */
export function findProgram(command: string, searchPath: string): string {
  const found = requireExecutable({ command, searchPath, tier: "cli-b", product: "Codex" });
  const real = realpathSync(found);
  const vendor = real.lastIndexOf(`${sep}@openai${sep}codex${sep}`);
  if (vendor === -1) return found;
  const packaged = join(real.slice(0, vendor), "@openai");
  const homes = [join(packaged, PLATFORM_PACKAGE), join(packaged, "codex", "node_modules", "@openai", PLATFORM_PACKAGE), join(packaged, "codex")];
  return homes.flatMap(natives).find(isExecutable) ?? found;
}

/** `vendor/<target>/bin/codex`; a package holds one target. */
function natives(home: string): string[] {
  try {
    return readdirSync(join(home, "vendor")).map((target) => join(home, "vendor", target, "bin", "codex"));
  } catch {
    return [];
  }
}
