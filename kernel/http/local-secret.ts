import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The header by which a caller on this machine proves that it may read the daemon's files. */
export const LOCAL_HEADER = "x-svc-local";
/** Its file in the data folder. */
export const LOCAL_FILE = "local-secret";

/** Secret that callers on this machine must present while `node.localSecret` is on: a new one for each start. */
export interface LocalSecret {
  /** Makes the secret and writes its file, for this user alone. Before the port is open. */
  open(): void;
  /** Takes the file away, also one that a killed daemon left. No caller can present it from then on. */
  close(): void;
  /** In constant time. */
  proves(given: unknown): boolean;
}

/** Makes the secret that proves a caller can read the data folder; the file exists between `open` and `close`. */
export function createLocalSecret(folder: string): LocalSecret {
  const file = join(folder, LOCAL_FILE);
  let digest: Buffer | undefined;
  return {
    open() {
      const secret = randomBytes(32).toString("hex");
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // Created anew and never opened: a file planted beforehand might be readable to others, or a link.
      rmSync(file, { force: true });
      writeFileSync(file, secret, { mode: 0o600, flag: "wx" });
      digest = digestOf(secret);
    },
    close() {
      digest = undefined;
      rmSync(file, { force: true });
    },
    proves: (given) => digest !== undefined && isDigestOf(given, digest),
  };
}

/** Whether a caller presented the secret; false if there is no secret. Constant time. */
export const sameSecret = (given: unknown, secret: string | undefined): boolean => secret !== undefined && isDigestOf(given, digestOf(secret));

const isDigestOf = (given: unknown, digest: Buffer): boolean => typeof given === "string" && timingSafeEqual(digest, digestOf(given));
const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
