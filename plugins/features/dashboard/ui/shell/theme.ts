const KEY = "svc.theme";

/** Which colours are used. */
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

/** Chooses colours. */
export function setTheme(wanted: Theme): void {
  try {
    if (wanted === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, wanted);
  } catch {
    // Not kept: this page alone shows them.
  }
  applyTheme(wanted);
}

/** Puts the colours into force. */
export function applyTheme(wanted: Theme = theme()): void {
  if (wanted === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
}
