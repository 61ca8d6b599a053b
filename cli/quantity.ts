/** A count with its noun: `1 file`, `2 files`. Nouns whose plural is not formed with an s are given with it. */
export const quantity = (count: number, noun: string, plural = `${noun}s`): string => `${count} ${count === 1 ? noun : plural}`;
