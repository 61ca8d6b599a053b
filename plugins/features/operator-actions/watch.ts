import { type FSWatcher, watch } from "node:fs";

const SETTLE_MS = 100;

/**
 * Calls `changed` soon after something changed in a folder, once for a burst, and returns the way to stop. Undefined where there is no
 * folder yet or the system cannot watch it: the caller looks by the clock as well. Does not keep the process alive.
 */
export function watchFolder(folder: string, changed: () => void): (() => void) | undefined {
  let timer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  const stop = () => {
    clearTimeout(timer);
    watcher?.close();
    watcher = undefined;
  };
  try {
    watcher = watch(folder, { persistent: false }, () => {
      clearTimeout(timer);
      timer = setTimeout(changed, SETTLE_MS).unref();
    });
    watcher.on("error", stop);
  } catch {
    return undefined;
  }
  return stop;
}
