/** Queue of a program's messages in order, for one reader. */
export interface Inbox<T> {
  push(...news: readonly T[]): void;
  /** Puts news before all that waits. */
  unshift(...news: readonly T[]): void;
  /** Drops the waiting items that `wanted` rejects. */
  retain(wanted: (news: T) => boolean): void;
  /** The next one; waits until there is one. */
  next(): Promise<T>;
}

/** Makes an empty one. */
export function createInbox<T>(): Inbox<T> {
  const waiting: T[] = [];
  let wake: (() => void) | undefined;
  return {
    push(...news) {
      waiting.push(...news);
      wake?.();
    },
    unshift(...news) {
      waiting.unshift(...news);
      wake?.();
    },
    retain(wanted) {
      waiting.splice(0, waiting.length, ...waiting.filter(wanted));
    },
    async next() {
      while (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
      return waiting.shift() as T;
    },
  };
}
