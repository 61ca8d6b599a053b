let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves when the next process may be started: one in each iteration of the event loop. Starting a process blocks the loop for 1 to 50 ms, so
 * starting a hundred at once would block everything else for seconds; so they are queued, and other work runs in between.
 */
export function startTurn(): Promise<unknown> {
  const mine = last;
  last = mine.then(() => new Promise((resolve) => setImmediate(resolve)));
  return mine;
}
