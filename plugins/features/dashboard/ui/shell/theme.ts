import { useSyncExternalStore } from "react";

const KEY = "svc.theme";

/** Colour theme. */
export type Theme = "system" | "light" | "dark";

/** The chosen colours, kept in the browser. */
export function theme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

const listeners = new Set<() => void>();

/** The chosen colours; drawn again when they change. */
export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, theme);
}

/** Chooses colours. */
export function setTheme(wanted: Theme): void {
  try {
    if (wanted === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, wanted);
  } catch {
    // Not kept: this page alone shows them.
  }
  applyTheme(wanted);
  for (const listener of [...listeners]) listener();
}

/** Puts the colours into force. */
export function applyTheme(wanted: Theme = theme()): void {
  if (wanted === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
}
