import { useSyncExternalStore } from "react";

/** Root font size for which the design's lengths are given. */
const DESIGN_PX = 16;

const listeners = new Set<() => void>();
let scale = read();
let ruler: HTMLElement | undefined;

function read(): number {
  return (Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || DESIGN_PX) / DESIGN_PX;
}

/** An element as wide as the root's font is high: that it changes is heard, not asked for. */
function watch(): void {
  if (ruler !== undefined) return;
  ruler = document.createElement("div");
  ruler.setAttribute("aria-hidden", "true");
  Object.assign(ruler.style, { position: "absolute", width: "1rem", height: "0", visibility: "hidden" });
  document.body.append(ruler);
  new ResizeObserver(() => {
    const now = read();
    if (now === scale) return;
    scale = now;
    for (const listener of [...listeners]) listener();
  }).observe(ruler);
}

/** Scale of the reader's text size against the design's: lengths in scripts are multiplied by it. */
export function useTextScale(): number {
  return useSyncExternalStore(
    (listener) => {
      watch();
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => scale,
  );
}
