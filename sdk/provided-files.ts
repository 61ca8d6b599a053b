import type { Guard } from "./http.ts";

/**
 * Files of the plugin's own that are served as they are: `<prefix>/app.js` answers `<folder>/app.js`. Read at each request; nothing above
 * the folder, no link and no name that begins with a dot is served, and no file larger than 26,214,400 bytes (25 MB). Answers `GET` with
 * `cache-control: no-store`.
 */
export interface ProvidedFiles {
  /** The path below which they are served: `/acme`. */
  readonly prefix: string;
  /** Relative to the folder of the plugin's package, and below it: `dist/ui`. Absolute for a plugin that has no package. */
  readonly folder: string;
  readonly guard: Guard;
  /** The server that serves them: `daemon` unless it names a provided one, such as `acme`. */
  readonly server?: string;
}
