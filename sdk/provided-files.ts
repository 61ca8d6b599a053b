import type { Guard } from "./http.ts";

/**
 * Static files of the plugin: `<prefix>/app.js` answers `<folder>/app.js`. Read at each request and sent piece by piece; nothing above the folder, no
 * link and no name that begins with a dot is served. Answers `GET` and `HEAD`, a single range of bytes, and 304 to clients with a current copy
 * (`ETag`, `Last-Modified`). If the client accepts the encoding and `app.js.br` or `app.js.gz` lies beside and is not older, that is sent in its
 * place; `app.js.br` alone is enough, and is decompressed for clients that do not accept it. A change of the file during the transfer ends the
 * connection, so that no client takes it for complete. Clients cache a copy and revalidate it before each use.
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
