import type { Envelope } from "./events.ts";
import type { Guard } from "./http.ts";

/**
 * A part of the dashboard: the shell shows it where `place` says to people whom `guard` lets in, and loads `module`, an ES module that
 * the plugin serves on the dashboard's server with `provide.files` or a route. The module runs under the dashboard's own content policy:
 * no inline script, no foreign origin.
 */
export interface Panel {
  /** Lower-case letters, digits and `-`; part of the panel's address. */
  readonly id: string;
  /** What people read in the navigation. */
  readonly title: string;
  /** `page`: in the navigation, with an address of its own. `admin`: a tab of the administration. `card`: a small part of the first page. */
  readonly place: "page" | "admin" | "card";
  /** Who is shown the panel; its module and its data have guards of their own. */
  readonly guard: Guard;
  /** The path of the module on the dashboard's server: `/acme/panel.js`. */
  readonly module: string;
}

/**
 * What the module of a panel exports. The shell calls `mount` when the panel is shown, and what it gives when it is shown no more. `Place` is
 * `HTMLElement` in a browser: an empty element of the panel's own. The tokens of the dashboard's style (`var(--ink)`, `var(--line)`, `var(--ok)` ...)
 * hold in it in both themes; a style sheet is linked, never written into the page, for the content policy takes no other.
 */
export interface PanelModule<Place = unknown> {
  mount(place: Place, host: PanelHost): undefined | (() => void) | Promise<undefined | (() => void)>;
}

/** What the shell lends to a panel. */
export interface PanelHost {
  /**
   * Asks a path of the dashboard's server as the person who is signed in; resolves with the JSON of the answer. Rejects with an `Error` that has
   * `status` (0 where nobody answers) and `code`. A sign-in that has ended is the shell's affair: the person is asked to sign in.
   */
  request<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  /** Hears the daemon's events as they happen, on the one stream that all pages share. Gives the way to stop, which the shell also does at the end. */
  onEvent(hear: (event: Envelope) => void): () => void;
  /** Goes to a page of the dashboard: `/tasks/<id>`. */
  navigate(to: string): void;
  /** Tells the person what happened; `error` stays until it is taken away. */
  toast(message: { readonly text: string; readonly cause?: string; readonly kind?: "done" | "error" }): void;
}
