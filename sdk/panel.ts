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
