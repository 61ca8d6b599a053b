import { accessSync, constants, readdirSync, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";
import { svcError } from "@svc/sdk";

const PLATFORM_PACKAGE = `codex-${process.platform}-${process.arch}`;

/**
 * The native program behind `command`: npm installs a launcher under its name, and what a launcher started outlives it.
 * Throws `SVC_TIER_PROGRAM` naming what was looked for.
 */
export function findProgram(command: string, searchPath: string): string {
  const found = command.includes(sep) ? (isProgram(resolve(command)) ? resolve(command) : undefined) : onPath(command, searchPath);
  if (found === undefined) {
    throw svcError(
      "SVC_TIER_PROGRAM",
      `tier cli-b: the program '${command}' was not found ${command.includes(sep) ? "or is not executable" : "on PATH"}; install Codex or set tiers.cli-b.command.`,
      {
        path: "tiers.cli-b.command",
      },
    );
  }
  const real = realpathSync(found);
  const vendor = real.lastIndexOf(`${sep}@openai${sep}codex${sep}`);
  if (vendor === -1) return found;
  const packaged = join(real.slice(0, vendor), "@openai");
  const homes = [join(packaged, PLATFORM_PACKAGE), join(packaged, "codex", "node_modules", "@openai", PLATFORM_PACKAGE), join(packaged, "codex")];
  return homes.flatMap(natives).find(isProgram) ?? found;
}

/** `vendor/<target>/bin/codex`; a package holds one target. */
function natives(home: string): string[] {
  try {
    return readdirSync(join(home, "vendor")).map((target) => join(home, "vendor", target, "bin", "codex"));
  } catch {
    return [];
  }
}

const onPath = (name: string, searchPath: string): string | undefined =>
  searchPath
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find(isProgram);

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
