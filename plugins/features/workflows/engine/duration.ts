const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest duration that a definition may name: 400 days. */
export const MAX_DURATION_MS = 400 * 86_400_000;

/** Milliseconds of `250ms`, `10s`, `5m`, `2h`, `3d` or of ISO 8601 such as `PT5M` and `P1DT12H`; undefined for anything else, and above 400 days. */
export function durationMs(text: string): number | undefined {
  const short = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  const iso = /^P(?!$)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(text);
  const part = (at: number, unit: string) => Number(iso?.[at] ?? 0) * (UNITS[unit] as number);
  let total: number | undefined;
  if (short !== null) total = Number(short[1]) * (UNITS[short[2] as string] as number);
  else if (iso !== null) total = Math.round(part(1, "d") + part(2, "h") + part(3, "m") + part(4, "s"));
  return total !== undefined && total <= MAX_DURATION_MS ? total : undefined;
}
