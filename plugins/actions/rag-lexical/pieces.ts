/** A stretch of a file that is found as one. */
export interface Piece {
  /** The line it starts on, from 1. */
  readonly line: number;
  readonly text: string;
}

const FULL = 1200;
const WORTH_A_BREAK = 600;
const LONGEST = 4000;

/**
 * Cuts a text into pieces of about a kilobyte at line ends, at an empty line where one is near. A line over 4,000 characters is cut
 * between characters and keeps its line number. Pieces without a word are left out.
 */
export function cutIntoPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let start = 1;
  let held: string[] = [];
  let size = 0;
  const flush = (next: number) => {
    const piece = held.join("\n");
    if (/[\p{L}\p{N}]/u.test(piece)) pieces.push({ line: start, text: piece });
    held = [];
    size = 0;
    start = next;
  };
  for (const [index, line] of text.split("\n").entries()) {
    if (line.length > LONGEST) {
      if (held.length) flush(index + 1);
      for (const part of slices(line)) {
        held = [part];
        flush(index + 1);
      }
      start = index + 2;
      continue;
    }
    held.push(line);
    size += line.length + 1;
    if (size >= FULL || (size >= WORTH_A_BREAK && line.trim() === "")) flush(index + 2);
  }
  if (held.length) flush(0);
  return pieces;
}

function* slices(line: string): Generator<string> {
  for (let at = 0; at < line.length; ) {
    let end = Math.min(at + LONGEST, line.length);
    // A surrogate pair stays whole.
    if (end < line.length && /[\uD800-\uDBFF]/.test(line.charAt(end - 1))) end -= 1;
    yield line.slice(at, end);
    at = end;
  }
}

/** The text of a file, or nothing for one that is no text. */
export function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, 8192).includes(0)) return undefined;
  return new TextDecoder("utf-8").decode(bytes);
}
