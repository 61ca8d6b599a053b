type MaybePromise<T> = T | Promise<T>;

/** Capability `files`: real paths below the given roots only; no symlink leads out. Relative paths start at the first root. */
export interface Files {
  /** Roots are set by the kernel from configuration: an agent's workspace, `SVC_BUILTIN_FILE_ROOTS`, the plugin's own data folder. A relative root starts at the daemon's folder, `.` being that folder. The daemon's own files below them (configuration, `.env`, data folder, `/proc`) are not listed and refused with `SVC_FILE_PROTECTED`. */
  under(...roots: readonly string[]): Confined;
  /** The plugin's own folder below the data folder, made on first use. */
  readonly own: Confined;
  /** The data folder (`.svc`), for the folders that people edit there, such as `actions` and `workflows`. Needs the capability `data-folder`. */
  readonly data: Confined;
}

/** Folders and everything below them. */
export interface Confined {
  readonly roots: readonly string[];
  /** Refuses with `SVC_FILE_TOO_LARGE` above `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Uint8Array>;
  /** Temp, fsync, rename, fsync folder. */
  write(path: string, data: string | Uint8Array): Promise<void>;
  /**
   * Reads, edits and writes a file under a lock: another `change` of the same file, in this process or another such as the command line, waits until
   * this one has ended. `edit` receives the current content, or undefined if the file does not exist, and returns the new one; undefined leaves the
   * file unchanged. Throws `SVC_FILE_BUSY` when another process holds the lock for 5 s.
   */
  change(path: string, maxBytes: number, edit: (before: Uint8Array | undefined) => MaybePromise<string | Uint8Array | undefined>): Promise<void>;
  /** One write call, in order over parallel callers. */
  append(path: string, data: string): Promise<void>;
  list(
    path: string,
  ): Promise<readonly { readonly name: string; readonly kind: "file" | "folder" | "other"; readonly size: number; readonly mtimeMs: number }[]>;
  /** The real path, for programs that need one. Throws when it leads outside. */
  resolve(path: string): Promise<string>;
  remove(path: string): Promise<void>;
}
