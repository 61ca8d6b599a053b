import { textWidth, wrapText } from "./text-width.ts";

const GAP = "  ";
/** No column is made narrower than this, in terminal columns. */
const NARROWEST = 8;

/**
 * Aligned columns. On a terminal the table fits its width: the widest columns wrap onto further lines. Elsewhere a row is one line,
 * so that `grep` and `awk` work.
 */
export function table(rows: readonly (readonly string[])[], columns: number | undefined = process.stdout.columns): string {
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, textWidth(cell));
  if (columns !== undefined) shrink(widths, columns - GAP.length * (widths.length - 1));
  return rows.flatMap((row) => linesOf(row, widths, columns !== undefined)).join("\n");
}

/** Narrows the widest column, one by one, until all fit or are at their minimum. */
function shrink(widths: number[], room: number): void {
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - room; excess > 0; ) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) return;
    const next = Math.max(NARROWEST, ...widths.filter((width) => width < widest));
    const sharing = widths.filter((width) => width === widest).length;
    const step = Math.max(1, Math.min(widest - next, Math.ceil(excess / sharing)));
    for (const [at, width] of widths.entries())
      if (width === widest && excess > 0) {
        widths[at] = width - step;
        excess -= step;
      }
  }
}

function linesOf(row: readonly string[], widths: readonly number[], wrapped: boolean): string[] {
  const cells = row.map((cell, at) => (wrapped ? wrapText(cell, widths[at] ?? 0) : [cell]));
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_line, line) =>
    cells
      .map((lines, at) => {
        const text = lines[line] ?? "";
        return at === cells.length - 1 ? text : text + " ".repeat(Math.max(0, (widths[at] ?? 0) - textWidth(text)));
      })
      .join(GAP)
      .trimEnd(),
  );
}

/** `3 d 4 h`, `12 min`, `5 s`. */
export function ago(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
