import { KIT } from "../words/kit.ts";

/** One line of a difference; `fold` stands for a stretch of equal ones. */
export interface DifferenceLine {
  readonly kind: "same" | "added" | "removed" | "fold";
  readonly text: string;
  /** Line numbers, from 1. */
  readonly before?: number;
  readonly after?: number;
}

/** Equal lines that stay around a change. */
const AROUND = 3;
/** Above that many cells a comparison is given up: all of the middle counts as changed. */
const MOST_CELLS = 4_000_000;

/** Compares two texts line by line: the longest common row of lines, equal stretches folded. */
export function differenceOf(before: string, after: string): readonly DifferenceLine[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail += 1;
  const lines: DifferenceLine[] = [];
  const same = (from: number, to: number, shift: number) => {
    for (let at = from; at < to; at += 1) lines.push({ kind: "same", text: old[at] as string, before: at + 1, after: at + 1 + shift });
  };
  same(0, head, 0);
  lines.push(...middle(old, fresh, head, old.length - tail, fresh.length - tail));
  same(old.length - tail, old.length, fresh.length - old.length);
  return folded(lines);
}

function middle(old: readonly string[], fresh: readonly string[], from: number, oldEnd: number, freshEnd: number): DifferenceLine[] {
  const [rows, columns] = [oldEnd - from, freshEnd - from];
  const lines: DifferenceLine[] = [];
  const removed = (at: number) => lines.push({ kind: "removed", text: old[at] as string, before: at + 1 });
  const added = (at: number) => lines.push({ kind: "added", text: fresh[at] as string, after: at + 1 });
  if (rows * columns > MOST_CELLS) {
    for (let at = from; at < oldEnd; at += 1) removed(at);
    for (let at = from; at < freshEnd; at += 1) added(at);
    return lines;
  }
  const width = columns + 1;
  const longest = new Uint32Array((rows + 1) * width);
  for (let row = rows - 1; row >= 0; row -= 1)
    for (let column = columns - 1; column >= 0; column -= 1)
      longest[row * width + column] =
        old[from + row] === fresh[from + column]
          ? (longest[(row + 1) * width + column + 1] as number) + 1
          : Math.max(longest[(row + 1) * width + column] as number, longest[row * width + column + 1] as number);
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    const equal = row < rows && column < columns && old[from + row] === fresh[from + column];
    if (equal) {
      lines.push({ kind: "same", text: old[from + row] as string, before: from + row + 1, after: from + column + 1 });
      row += 1;
      column += 1;
    } else if (column >= columns || (row < rows && (longest[(row + 1) * width + column] as number) >= (longest[row * width + column + 1] as number))) {
      removed(from + row);
      row += 1;
    } else {
      added(from + column);
      column += 1;
    }
  }
  return lines;
}

function folded(lines: readonly DifferenceLine[]): DifferenceLine[] {
  const result: DifferenceLine[] = [];
  for (let at = 0; at < lines.length; ) {
    let end = at;
    while (end < lines.length && lines[end]?.kind === "same") end += 1;
    const [keepBefore, keepAfter] = [at === 0 ? 0 : AROUND, end === lines.length ? 0 : AROUND];
    if (end - at > keepBefore + keepAfter + 1) {
      const hidden = end - at - keepBefore - keepAfter;
      const first = lines[at + keepBefore];
      result.push(...lines.slice(at, at + keepBefore), { ...first, kind: "fold", text: KIT.same(hidden) }, ...lines.slice(end - keepAfter, end));
    } else result.push(...lines.slice(at, end));
    at = end;
    if (at < lines.length) result.push(lines[at++] as DifferenceLine);
  }
  return result;
}
