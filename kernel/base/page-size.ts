/** Documents that are read in the first turn of the loop, when it is not known how long they are. */
export const FIRST_PAGE = 20;
const MOST = 100;
/** Characters that one turn is to read. */
const TURN_CHARS = 1_000_000;

/** Returns how many documents the next turn reads, by the characters of those that were read in this one. */
export function nextPage(lengths: readonly number[]): number {
  const chars = lengths.reduce((sum, length) => sum + length, 0);
  return chars === 0 ? MOST : Math.max(1, Math.min(MOST, Math.floor((lengths.length * TURN_CHARS) / chars)));
}
