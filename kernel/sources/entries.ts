import { reasonOf } from "@svc/sdk";
import { nearest } from "../base/nearest.ts";
import { readEntry, resolveEntry } from "./source.ts";

/** An entry of `plugins` that leads to nothing. */
export interface EntryTrouble {
  /** Its place in the list. */
  readonly at: number;
  readonly entry: string;
  readonly reason: string;
}

/** Returns the entries that name no plugin, each with the reason: also those that a running daemon has not read yet. Runs no code. */
export function troublesOf(entries: readonly string[], folder: string, searchFolders: readonly string[], ids: readonly string[]): EntryTrouble[] {
  return entries.flatMap((entry, at) => {
    const reason = troubleWith(entry, folder, searchFolders, ids);
    return reason === undefined ? [] : [{ at, entry, reason }];
  });
}

function troubleWith(entry: string, folder: string, searchFolders: readonly string[], ids: readonly string[]): string | undefined {
  const { name, off } = readEntry(entry);
  if (off) {
    if (ids.includes(name)) return undefined;
    const near = nearest(name, ids);
    return `switches off ${name}, and no plugin here has that id${near === undefined ? "; see svc plugin list --all" : `; did you mean ${near}?`}`;
  }
  try {
    resolveEntry(entry, folder, searchFolders);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}
