import { fail } from "./errors.ts";

/** An option that is a number, from `least` on; undefined when it was not given. Anything else is wrong usage. */
export function numberOption(
  options: Readonly<Record<string, unknown>>,
  name: string,
  { least, whole = true }: { least: number; whole?: boolean },
): number | undefined {
  const given = options[name];
  if (given === undefined) return undefined;
  const value = String(given).trim() === "" ? Number.NaN : Number(given);
  if (Number.isFinite(value) && value >= least && (!whole || Number.isInteger(value))) return value;
  throw fail("SVC_CLI_USAGE", { reason: `--${name} must be a ${whole ? "whole number" : "number"} from ${least} on, not '${given}'` });
}
