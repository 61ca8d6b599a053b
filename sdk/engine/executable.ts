import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";
import { svcError } from "../errors.ts";

/** What is started: a native program, or an interpreter with the program's script. */
export interface Executable {
  readonly file: string;
  readonly args: readonly string[];
}

/** How a tier names its program when it is missing. */
export interface WantedProgram {
  /** A name to look up, or a path. */
  readonly command: string;
  /** As `PATH` has it. Relative folders are passed over. */
  readonly searchPath: string;
  /** The tier's name: `acme`. */
  readonly tier: string;
  /** What the operator installs: `Acme Code`. */
  readonly product: string;
  /** The setting that names the program; default `tiers.<tier>.command`. */
  readonly setting?: string;
  /** A path may lead to a script without the right to execute it. */
  readonly script?: boolean;
}

/** The file behind a name on the search path, or behind a path; undefined when there is none that can be executed. */
export function findExecutable(command: string, searchPath: string, mode: number = constants.X_OK): string | undefined {
  if (command.includes(sep)) return isFile(resolve(command), mode) ? resolve(command) : undefined;
  return searchPath
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, command))
    .find((file) => isFile(file, constants.X_OK));
}

/** As `findExecutable`. Throws `SVC_TIER_PROGRAM` naming what was looked for, what to install and which setting to change. */
export function requireExecutable({ command, searchPath, tier, product, setting = `tiers.${tier}.command`, script = false }: WantedProgram): string {
  const found = findExecutable(command, searchPath, script ? constants.R_OK : constants.X_OK);
  if (found !== undefined) return found;
  const where = command.includes(sep) ? (script ? "or cannot be read" : "or is not executable") : "on PATH";
  throw svcError("SVC_TIER_PROGRAM", `tier ${tier}: the program '${command}' was not found ${where}; install ${product} or set ${setting}.`, { path: setting });
}

/** How the file is started: one whose first line names node by this very node, so that PATH need not hold another. */
export function executableOf(file: string): Executable {
  const real = realpathSync(file);
  const script = /\.[cm]?js$/.test(real) && /^#!.*\bnode\b/.test(readFileSync(real, "latin1").slice(0, 80));
  return script ? { file: process.execPath, args: [real] } : { file, args: [] };
}

/** May this process execute the file? */
export const isExecutable = (file: string): boolean => isFile(file, constants.X_OK);

function isFile(file: string, mode: number): boolean {
  try {
    // Asked first: it throws no error for each folder of PATH that has no such file.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}
