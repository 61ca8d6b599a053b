import { maskText } from "./mask-text.ts";

/** A line that only one of two texts has, with its number in that text, from 1. */
export interface DifferingLine {
  readonly sign: "-" | "+";
  readonly number: number;
  readonly line: string;
}

/** Above this many pairs of lines the middle is shown as replaced: a table of them would take more memory than it is worth. */
const MAX_PAIRS = 4_000_000;

/** The fewest lines that must be taken away from `before` and added to make `after`, in order. */
export function differingLines(before: string, after: string): readonly DifferingLine[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let tail = 0;
  while (tail < old.length - start && tail < fresh.length - start && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const [left, right] = [old.slice(start, old.length - tail), fresh.slice(start, fresh.length - tail)];
  const width = right.length + 1;
  const comparable = left.length * right.length <= MAX_PAIRS;

  // common[i * width + j]: lines that left from i and right from j have in common.
  const common = new Uint32Array(comparable ? (left.length + 1) * width : 0);
  if (comparable) {
    for (let i = left.length - 1; i >= 0; i -= 1) {
      for (let j = right.length - 1; j >= 0; j -= 1) {
        const cell = i * width + j;
        const below = common[cell + width] as number;
        common[cell] = left[i] === right[j] ? (common[cell + width + 1] as number) + 1 : Math.max(below, common[cell + 1] as number);
      }
    }
  }

  const lines: DifferingLine[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (comparable && i < left.length && j < right.length && left[i] === right[j]) {
      i += 1;
      j += 1;
      continue;
    }
    const takeAway = i < left.length && (j >= right.length || !comparable || (common[(i + 1) * width + j] as number) >= (common[i * width + j + 1] as number));
    if (takeAway) {
      lines.push({ sign: "-", number: start + i + 1, line: left[i] as string });
      i += 1;
    } else {
      lines.push({ sign: "+", number: start + j + 1, line: right[j] as string });
      j += 1;
    }
  }
  return lines;
}

/**
 * Returns the difference between `text` and the last good text: lines with `-` and `+` and their numbers, credentials masked, for a person; empty
 * when the two are equal.
 */
export function differenceFrom(lastGoodText: string, text: string): string {
  const shown = { "-": maskText(lastGoodText).split("\n"), "+": maskText(text).split("\n") };
  return differingLines(lastGoodText, text)
    .map(({ sign, number }) => `${sign} ${String(number).padStart(4)}  ${shown[sign][number - 1]}`)
    .join("\n");
}
