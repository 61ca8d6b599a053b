import { fail } from "./errors.ts";

interface Bounds {
  readonly least: number;
  readonly most?: number;
  /** Only whole numbers; default true. */
  readonly whole?: boolean;
}

/** An option that is a number within its bounds; undefined when it was not given. Anything else is wrong usage. */
export function numberOption(options: Readonly<Record<string, unknown>>, name: string, { least, most, whole = true }: Bounds): number | undefined {
  const given = options[name];
  if (given === undefined) return undefined;
  const value = String(given).trim() === "" ? Number.NaN : Number(given);
  if (Number.isFinite(value) && value >= least && value <= (most ?? value) && (!whole || Number.isInteger(value))) return value;
  const range = most === undefined ? `from ${least} on` : `from ${least} to ${most}`;
  throw fail("SVC_CLI_USAGE", { reason: `--${name} must be a ${whole ? "whole number" : "number"} ${range}, not '${given}'` });
}
