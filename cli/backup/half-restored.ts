import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";

/** What a restore notes while it moves things into their places. */
export interface RestoreMark {
  /** The backup. */
  readonly from: string;
  /** The ending of the names under which it keeps what stood there. */
  readonly suffix: string;
}

/** The file of the mark, beside svc.json. */
export const restoreMarkOf = (folder: string): string => join(folder, ".svc-restore.json");

/** The error of a folder into which a backup has been restored in part; undefined for any other folder. */
export function halfRestored({ folder }: Pick<Cli, "folder">): Error | undefined {
  const mark = restoreMarkOf(folder);
  let text: string;
  try {
    text = readFileSync(mark, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : (error as Error);
  }
  return fail("SVC_CLI_HALF_RESTORED", { folder, ...noted(text), mark });
}

/** What the mark says; one that a power cut has emptied is a mark all the same. */
function noted(text: string): RestoreMark {
  try {
    const { from, suffix } = JSON.parse(text) as RestoreMark;
    return { from, suffix };
  } catch {
    return { from: "<folder of the backup>", suffix: "before-restore-<time>" };
  }
}

/** Throws `SVC_CLI_HALF_RESTORED`: a start would begin with a new state, or with one that does not fit its configuration. */
export function requireRestored(cli: Pick<Cli, "folder">): void {
  const half = halfRestored(cli);
  if (half !== undefined) throw half;
}
