/* Mark by which the command line recognises its own daemon. Imports no other module of the kernel: it is loaded by each command. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";

/** The daemon's instance, on every answer. */
export const INSTANCE = "svc-instance";
/** The instance that a request is meant for; any other daemon refuses it before it does anything. */
export const INSTANCE_EXPECTED = "svc-expect-instance";
/** Holds the identity, in the data folder. */
export const INSTANCE_FILE = "instance.json";

/** The identity of a data folder; undefined where no daemon ran yet, or where the folder is a copy of another one. */
export function readInstance(folder: string): string | undefined {
  try {
    const mark = JSON.parse(readFileSync(join(folder, INSTANCE_FILE), "utf8")) as { id?: unknown; folder?: unknown; inode?: unknown } | null;
    if (typeof mark?.id !== "string" || mark.id === "") return undefined;
    // A copy has another path and another inode; a moved or remounted folder differs in one of them only.
    return mark.folder === realpathSync(folder) || mark.inode === statSync(folder).ino ? mark.id : undefined;
  } catch {
    return undefined;
  }
}
