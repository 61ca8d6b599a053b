import { realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { isExecutable, requireExecutable } from "@svc/sdk/engine";

const PLATFORM_PACKAGE = `claude-code-${process.platform}-${process.arch}`;

/**
 * The native program behind `command`, so that no launcher stands between it and the signals sent to it: an installation by npm
 * without install scripts has only a stub under the command's name. Throws `SVC_TIER_PROGRAM` naming what was looked for.
 */
export function findProgram(command: string, searchPath: string): string {
  const found = requireExecutable({ command, searchPath, tier: "cli-a", product: "Claude Code" });
  const real = realpathSync(found);
  const vendor = real.lastIndexOf(`${sep}@anthropic-ai${sep}claude-code${sep}`);
  if (vendor === -1) return found;
  const packaged = join(real.slice(0, vendor), "@anthropic-ai");
  const native = [join(packaged, PLATFORM_PACKAGE, "claude"), join(packaged, "claude-code", "node_modules", "@anthropic-ai", PLATFORM_PACKAGE, "claude")];
  return native.find(isExecutable) ?? found;
}
