import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@svc/sdk";
import { atomicWrite } from "./atomic-file.ts";
import { fail } from "./errors.ts";

const NAME = "last-good.json";

/** Keeps the text of a configuration that started, with its `${NAME}` references, in the data folder; mode 0600. Unchanged text is not written again. */
export async function rememberLastGood(dataFolder: string, text: string): Promise<void> {
  if ((await lastGood(dataFolder)) !== text) await atomicWrite(join(dataFolder, NAME), text, { mode: 0o600 });
}

/** Returns the text of the last configuration that started; undefined if there is none. Throws `SVC_CONFIG_UNREADABLE`. */
export async function lastGood(dataFolder: string): Promise<string | undefined> {
  const file = join(dataFolder, NAME);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw fail("SVC_CONFIG_UNREADABLE", { file, reason: (error as Error).message, cause: error });
  }
}
