import { useSyncExternalStore } from "react";

const query = matchMedia("(max-width: 40em)");

/** Whether the screen has room for one pane only. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => query.matches,
  );
}
