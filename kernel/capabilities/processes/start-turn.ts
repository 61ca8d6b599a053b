let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves when the next process may be started: one in each turn of the event loop. Starting one blocks the loop for 1 to 50 ms,
 * so a hundred started at once would stop everything else for seconds; so they stand in line, and other work comes in between.
 */
export function startTurn(): Promise<unknown> {
  const mine = last;
  last = mine.then(() => new Promise((resolve) => setImmediate(resolve)));
  return mine;
}
