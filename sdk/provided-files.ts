import type { Guard } from "./http.ts";

/**
 * Files of the plugin's own that are served as they are: `<prefix>/app.js` answers `<folder>/app.js`. Read at each request and sent piece
 * by piece; nothing above the folder, no link and no name that begins with a dot is served. Answers `GET` and `HEAD`, a single range of
 * bytes, and 304 to those who have the file already (`ETag`, `Last-Modified`). Where the caller takes it and `app.js.br` or `app.js.gz`
 * lies beside and is not older, that is sent in its place; `app.js.br` alone is enough, and is unpacked for the few who do not take it. A file that is changed while it is sent ends the connection, so that nobody takes
 * it for whole. Callers keep a copy and ask about it before each use.
 */
export interface ProvidedFiles {
  /** The path below which they are served: `/acme`. */
  readonly prefix: string;
  /** Relative to the folder of the plugin's package: `dist/ui`. Absolute for a plugin that has no package; one that has is given nothing above it. */
  readonly folder: string;
  readonly guard: Guard;
  /** The names change with the bytes, as those of build tools do: callers keep their copies for a year and do not ask. Default false. */
  readonly immutable?: boolean;
  /** The server that serves them: `daemon` unless it names a provided one, such as `acme`. */
  readonly server?: string;
}
