import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";
import { svcError } from "../errors.ts";

/** A program to start: a native one, or an interpreter with the program's script. */
export interface Executable {
  readonly file: string;
  readonly args: readonly string[];
}

/** The program of a tier, described for the error when it is missing. */
export interface WantedProgram {
  /** A name to look up, or a path. */
  readonly command: string;
  /** Search path in the format of `PATH`. Relative folders are skipped. */
  readonly searchPath: string;
  /** The tier's name: `acme`. */
  readonly tier: string;
  /** Product that the operator installs: `Acme Code`. */
  readonly product: string;
  /** The setting that names the program; default `tiers.<tier>.command`. */
  readonly setting?: string;
  /** A path may lead to a script without the right to execute it. */
  readonly script?: boolean;
}

/** Resolves a name on the search path, or a path, to a file; undefined when there is no executable one. */
export function findExecutable(command: string, searchPath: string, mode: number = constants.X_OK): string | undefined {
  if (command.includes(sep)) return isFile(resolve(command), mode) ? resolve(command) : undefined;
  return searchPath
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, command))
    .find((file) => isFile(file, constants.X_OK));
}

/** As `findExecutable`. Throws `SVC_TIER_PROGRAM` naming the file, the product to install and the setting to change. */
export function requireExecutable({ command, searchPath, tier, product, setting = `tiers.${tier}.command`, script = false }: WantedProgram): string {
  const found = findExecutable(command, searchPath, script ? constants.R_OK : constants.X_OK);
  if (found !== undefined) return found;
  const where = command.includes(sep) ? (script ? "or cannot be read" : "or is not executable") : "on PATH";
  throw svcError("SVC_TIER_PROGRAM", `tier ${tier}: the program '${command}' was not found ${where}; install ${product} or set ${setting}.`, { path: setting });
}

/** Returns how to start the file: a script whose first line names node runs with this very node, so that PATH need not have one. */
export function executableOf(file: string): Executable {
  const real = realpathSync(file);
  const script = /\.[cm]?js$/.test(real) && /^#!.*\bnode\b/.test(readFileSync(real, "latin1").slice(0, 80));
  return script ? { file: process.execPath, args: [real] } : { file, args: [] };
}

/** Tests whether this process may execute the file. */
export const isExecutable = (file: string): boolean => isFile(file, constants.X_OK);

function isFile(file: string, mode: number): boolean {
  try {
    // `statSync` first: it throws no error for each folder of PATH without such a file.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}
