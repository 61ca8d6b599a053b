import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { codeOf } from "@svc/sdk";

const LOOK_EVERY_MS = 2_000;

/**
 * Detects that an open file was deleted or replaced: later writes to it are lost. Checks on request and every two seconds, never twice at once; a
 * disk that does not answer blocks nothing. Files are compared by name and inode: opening and closing one would end SQLite's locks on it.
 */
export class Presence {
  readonly #files: readonly { readonly file: string; readonly identity: string }[];
  readonly #onGone: (reason: string) => void;
  readonly #timer: NodeJS.Timeout;
  #looking = false;
  #closed = false;

  /** `onGone` is called once, with the reason. */
  constructor(files: readonly string[], onGone: (reason: string) => void) {
    this.#files = files.map((file) => ({ file, identity: identityOf(statSync(file)) }));
    this.#onGone = onGone;
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  look(): void {
    if (this.#looking || this.#closed) return;
    this.#looking = true;
    void this.#look().finally(() => {
      this.#looking = false;
    });
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    for (const { file, identity } of this.#files) {
      let found: string | undefined;
      try {
        found = identityOf(await stat(file));
      } catch (error) {
        // Any other trouble is for who reads and writes there.
        if (!MISSING.has(codeOf(error) ?? "")) continue;
      }
      if (found === identity || this.#closed) continue;
      this.close();
      this.#onGone(`${file} was ${found === undefined ? "deleted" : "replaced"} while the daemon used it`);
    }
  }
}

const MISSING: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

const identityOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }): string => `${dev}:${ino}`;
