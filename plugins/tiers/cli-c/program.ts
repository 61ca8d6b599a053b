import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";
import { svcError } from "@svc/sdk";

/** What is started: a native program, or this Node with the program's script. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

/** The program behind `command`. Throws `SVC_TIER_PROGRAM` naming what was looked for. */
export function findProgram(command: string, searchPath: string): Program {
  const found = command.includes(sep) ? (isFile(resolve(command)) ? resolve(command) : undefined) : onPath(command, searchPath);
  if (found === undefined) {
    throw svcError(
      "SVC_TIER_PROGRAM",
      `tier cli-c: the program '${command}' was not found ${command.includes(sep) ? "" : "on PATH"}; install Gemini CLI or set tiers.cli-c.command.`,
      {
        path: "tiers.cli-c.command",
      },
    );
  }
  const real = realpathSync(found);
  return isScript(real) ? { file: process.execPath, args: [real] } : { file: found, args: [] };
}

/** Its first line names node: run by this very node, so that PATH need not hold another. */
function isScript(file: string): boolean {
  return /\.[cm]?js$/.test(file) && /^#!.*\bnode\b/.test(readFileSync(file, "latin1").slice(0, 80));
}

const onPath = (name: string, searchPath: string): string | undefined =>
  searchPath
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find((file) => isFile(file, constants.X_OK));

function isFile(file: string, mode: number = constants.R_OK): boolean {
  try {
    accessSync(file, mode);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
