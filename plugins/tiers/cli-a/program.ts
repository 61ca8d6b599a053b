import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";
import { svcError } from "@svc/sdk";

const PLATFORM_PACKAGE = `claude-code-${process.platform}-${process.arch}`;

/**
 * The native program behind `command`, so that no launcher stands between it and the signals sent to it: an installation by npm
 * without install scripts has only a stub under the command's name. Throws `SVC_TIER_PROGRAM` naming what was looked for.
 */
export function findProgram(command: string, searchPath: string): string {
  const found = command.includes(sep) ? (isProgram(resolve(command)) ? resolve(command) : undefined) : onPath(command, searchPath);
  if (found === undefined) {
    throw svcError(
      "SVC_TIER_PROGRAM",
      `tier cli-a: the program '${command}' was not found ${isAbsolute(command) ? "or is not executable" : "on PATH"}; install Claude Code or set tiers.cli-a.command.`,
      { path: "tiers.cli-a.command" },
    );
  }
  const real = realpathSync(found);
  const vendor = real.lastIndexOf(`${sep}@anthropic-ai${sep}claude-code${sep}`);
  if (vendor === -1) return found;
  const packaged = join(real.slice(0, vendor), "@anthropic-ai");
  const native = [join(packaged, PLATFORM_PACKAGE, "claude"), join(packaged, "claude-code", "node_modules", "@anthropic-ai", PLATFORM_PACKAGE, "claude")];
  return native.find(isProgram) ?? found;
}

const onPath = (name: string, searchPath: string): string | undefined =>
  searchPath
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find(isProgram);

function isProgram(file: string): boolean {
  try {
    // Looked at first, since it throws no error for each folder of PATH that has no such file.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
