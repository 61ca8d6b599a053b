import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { reasonOf } from "@svc/sdk";
import { originsOf, type Source } from "./source.ts";

/** What of a plugin's life went wrong. */
export type FailedPhase = "import" | "setup" | "start" | "reload";

/** In words, with the phase and the place in the plugin's own files: `setup: x is not a function (dist/index.js:12:9)`. */
export function describeFailure(error: unknown, phase: FailedPhase, source: Source): string {
  const place = placeOf(error, source);
  const reason = reasonOf(error);
  // The kernel's own errors say all themselves: that a file is missing, what was declared wrongly.
  if (phase === "import" && place === undefined) return reason;
  return `${phase}: ${reason}${place === undefined ? "" : ` (${place})`}`;
}

/** Characters of a place that came with the error: a plugin's own process has told it. */
const LONGEST = 200;

/** Where in a plugin's own files an error arose, as `file:line:column` below its folder; of files of its vendors only where none of its own is in the stack. */
export function placeOf(error: unknown, source: Source): string | undefined {
  const reported = (error as { place?: unknown } | null | undefined)?.place;
  if (typeof reported === "string") return reported.slice(0, LONGEST);
  const places = linesOf(error).flatMap((line) => placeIn(line, source) ?? []);
  return places.find((place) => !place.includes("node_modules/")) ?? places[0];
}

function linesOf(error: unknown): string[] {
  try {
    return error instanceof Error ? String(error.stack ?? "").split("\n") : [];
  } catch {
    return [];
  }
}

function placeIn(line: string, source: Source): string | undefined {
  for (const origin of originsOf(source)) {
    for (const start of [pathToFileURL(origin).href, origin]) {
      const at = line.indexOf(start);
      const [, below, position] = at === -1 ? [] : (/^([^\s:)]*):(\d+(?::\d+)?)/.exec(line.slice(at + start.length)) ?? []);
      if (below !== undefined) return `${below === "" ? basename(origin) : below}:${position}`;
    }
  }
  return undefined;
}
