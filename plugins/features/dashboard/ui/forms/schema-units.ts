import type { Schema } from "@svc/sdk";

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/(?:ms|millis(?:econds)?)$/i, "ms"],
  [/seconds?$|sec$/i, "s"],
  [/minutes?$/i, "minutes"],
  [/hours?$/i, "hours"],
  [/days?$/i, "days"],
  [/tokens$/i, "tokens"],
  [/bytes$/i, "bytes"],
];

/** Returns the unit of a number, by the end of its key, or by the first words of its description. */
export function unitOf(key: string, { description = "" }: Schema): string {
  const [, unit] = UNITS.find(([end]) => end.test(key)) ?? [];
  if (unit !== undefined) return unit;
  return /^(seconds|minutes|hours|days)\b/.exec(description)?.[1] ?? "";
}
