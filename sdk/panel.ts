import type { Envelope } from "./events.ts";
import type { Guard } from "./http.ts";

/**
 * A panel of the dashboard: the shell shows it where `place` says to people whom `guard` admits, and loads `module`, an ES module that the plugin
 * serves on the dashboard's server with `provide.files` or a route. The module runs under the dashboard's own content policy: no inline script, no
 * foreign origin.
 */
export interface Panel {
  /** Lower-case letters, digits and `-`; part of the panel's address. */
  readonly id: string;
  /** Title in the navigation. */
  readonly title: string;
  /** `page`: in the navigation, with an address of its own. `admin`: a tab of the administration. `card`: a small part of the first page. */
  readonly place: "page" | "admin" | "card";
  /** Guard of the panel's entry; its module and its data have guards of their own. */
  readonly guard: Guard;
  /** The path of the module on the dashboard's server: `/acme/panel.js`. */
  readonly module: string;
}

/**
 * Exports of a panel's module. The shell calls `mount` to show the panel, and the returned function to remove it. `Place` is `HTMLElement` in a
 * browser: an empty element of the panel's own. The tokens of the dashboard's style (`var(--ink)`, `var(--line)`, `var(--ok)` ...) work in it in both
 * themes; link a style sheet, since the content policy blocks inline styles.
 */
export interface PanelModule<Place = unknown> {
  mount(place: Place, host: PanelHost): undefined | (() => void) | Promise<undefined | (() => void)>;
}

/** Interface of the shell for a panel. */
export interface PanelHost {
  /**
   * Requests a path of the dashboard's server as the signed-in person; resolves with the JSON of the answer. Rejects with an `Error` that has
   * `status` (0 when the server does not answer) and `code`. The shell handles an expired session: it asks the person to sign in.
   */
  request<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  /**
   * Subscribes to the daemon's live events, on the one stream that all pages share. Returns the function that unsubscribes, which the shell also
   * calls at the end.
   */
  onEvent(hear: (event: Envelope) => void): () => void;
  /** Navigates to a page of the dashboard: `/tasks/<id>`. */
  navigate(to: string): void;
  /** Shows a toast; `error` stays until it is dismissed. */
  toast(message: { readonly text: string; readonly cause?: string; readonly kind?: "done" | "error" }): void;
}
