/** One line of the program's protocol, read as far as the tier needs to. */
export type Fields = Record<string, unknown>;

export const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {});
export const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
export const countOf = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : 0);

/** The object on a line, `undefined` for a line that is no message at all, `"broken"` for one that began as a message. */
export function readLine(line: string): Fields | "broken" | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return "broken";
  }
}
