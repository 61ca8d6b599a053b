import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { fail } from "../errors.ts";

const NAME = ".env";
const LARGEST = 1_048_576;

/**
 * Adds a variable to the folder's `.env`, which the daemon reads at its start and at each reload: atomically, readable by its owner
 * alone, and without touching the other lines. Resolves with a function that takes it back.
 */
export async function keepSecret(folder: string, name: string, value: string): Promise<() => Promise<void>> {
  const { createFolder } = await import("@svc/kernel/folder");
  const files = createFolder(folder);
  const line = `${name}=${quoted(name, value)}\n`;
  // A replaced file keeps its mode: restrict it before the secret is written.
  await chmod(join(folder, NAME), 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  let fresh = false;
  let start = "";
  await files.change(NAME, LARGEST, (before) => {
    fresh = before === undefined;
    const text = before === undefined ? "" : Buffer.from(before).toString();
    start = text === "" || text.endsWith("\n") ? "" : "\n";
    return text + start + line;
  });
  return async () => {
    if (fresh) await files.remove(NAME);
    else
      await files.change(NAME, LARGEST, (now) => {
        const text = Buffer.from(now ?? []).toString();
        const at = text.lastIndexOf(start + line);
        return at === -1 ? undefined : text.slice(0, at) + text.slice(at + start.length + line.length);
      });
  };
}

/** Quotes a value so that it is read back unchanged: `#` and spaces need quotes, and the format has no escapes. */
function quoted(name: string, value: string): string {
  const written = ["", "'", "`", '"'].map((quote) => quote + value + quote).find((text) => parseEnv(`${name}=${text}\n`)[name] === value);
  if (written === undefined || value.includes("\n"))
    throw fail("SVC_CLI_USAGE", { reason: `The value of ${name} cannot be kept in .env: set the variable in the daemon's environment.` });
  return written;
}
