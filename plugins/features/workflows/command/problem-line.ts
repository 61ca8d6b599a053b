import { oneLine } from "./run-lines.ts";
import type { ShownProblem } from "./shown.ts";

/** `file:line:column: error CODE text`, which editors and terminals lead to the place. */
export function problemLine(file: string, { line, column, severity, code, message, pointer }: ShownProblem): string {
  const place = [file, line ?? 1, column ?? 1].join(":");
  const where = pointer === undefined || pointer === "" ? "" : ` (${oneLine(pointer)})`;
  return `${place}: ${[severity, code, oneLine(message)].filter((part) => part !== undefined && part !== "").join(" ")}${where}`;
}
