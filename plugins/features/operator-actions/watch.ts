import { type FSWatcher, watch } from "node:fs";

const SETTLE_MS = 100;

/**
 * Calls `changed` soon after something changed in a folder, once for a burst. Where the system cannot watch (a network share, no watch
 * left) it stays silent: the caller looks by the clock as well. Does not keep the process alive.
 */
export function watchFolder(folder: string, changed: () => void): () => void {
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
    stop();
  }
  return stop;
}
