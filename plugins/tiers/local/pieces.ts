/** A text in about `count` pieces, never cut inside a surrogate pair. */
export function piecesOf(text: string, count: number): string[] {
  const length = Math.max(1, Math.ceil(text.length / count));
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + length, text.length);
    const last = text.charCodeAt(to - 1);
    if (to < text.length && last >= 0xd800 && last <= 0xdbff) to += 1;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}
