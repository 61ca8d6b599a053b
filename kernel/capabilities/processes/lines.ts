const NEWLINE = 10;
const RETURN = 13;

/** Options of splitting a stream into lines. */
export interface LinesOptions {
  /** The longest line in bytes, without its end. */
  readonly maxBytes: number;
  readonly line: (text: string) => void;
  /** Called once for an overlong line, after which no more lines are passed. Without it an overlong line is truncated and reading continues at the next one. */
  readonly tooLong?: () => void;
}

/** Splits a byte stream into lines at `\n`; a preceding `\r` is removed too. */
export interface Lines {
  push(chunk: Buffer): void;
  /** Passes the text after the last line end. */
  end(): void;
}

/** Each byte is read once and copied at most once, however long the line. Invalid UTF-8 becomes U+FFFD; a character split between chunks stays intact. */
export function createLines({ maxBytes, line, tooLong }: LinesOptions): Lines {
  let pieces: Buffer[] = [];
  let length = 0;
  let ended = false;

  function add(piece: Buffer): void {
    const room = maxBytes + 1 - length;
    // One byte more than allowed: it may be the `\r` of the line end.
    const kept = piece.length > room ? piece.subarray(0, Math.max(0, room)) : piece;
    if (kept.length > 0) pieces.push(kept);
    length += piece.length;
    if (length > maxBytes + 1) overflow();
  }

  function overflow(): void {
    if (tooLong === undefined || ended) return;
    ended = true;
    pieces = [];
    tooLong();
  }

  function flush(): void {
    const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
    const whole = length === bytes.length;
    const end = whole && bytes.at(-1) === RETURN ? bytes.length - 1 : bytes.length;
    pieces = [];
    length = 0;
    if (end > maxBytes) overflow();
    if (!ended) line(bytes.toString("utf8", 0, Math.min(end, maxBytes)));
  }

  return {
    push(chunk) {
      let from = 0;
      while (!ended) {
        const at = chunk.indexOf(NEWLINE, from);
        if (at < 0) break;
        add(chunk.subarray(from, at));
        if (!ended) flush();
        from = at + 1;
      }
      if (!ended && from < chunk.length) add(chunk.subarray(from));
    },
    end() {
      if (!ended && length > 0) flush();
      ended = true;
    },
  };
}
