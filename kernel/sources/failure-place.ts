import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { reasonOf } from "@svc/sdk";
import { originsOf, type Source } from "./source.ts";

/** Phase of a plugin's lifecycle that failed. */
export type FailedPhase = "import" | "setup" | "start" | "reload";

/** Describes a failure with its phase and its place in the plugin's own files: `setup: x is not a function (dist/index.js:12:9)`. */
export function describeFailure(error: unknown, phase: FailedPhase, source: Source): string {
  const place = placeOf(error, source);
  const reason = `${reasonOf(error)}${phase === "setup" ? hintOf(error) : ""}`;
  // The kernel's own errors are complete: a missing file, a wrong declaration.
  if (phase === "import" && place === undefined) return reason;
  return `${phase}: ${reason}${place === undefined ? "" : ` (${place})`}`;
}

/** `ctx.hooks.inbund.tap(...)` is an error of JavaScript that names neither the hook nor the six that there are. */
const hintOf = (error: unknown): string =>
  error instanceof TypeError && error.message.endsWith("(reading 'tap')")
    ? "; the hooks of ctx.hooks are inbound, route, assembleContext, dispatch, deliver and emit"
    : "";

/** Limit of a place, in characters, that a plugin's own process reported. */
const LONGEST = 200;

/**
 * Returns the position in a plugin's own files where an error arose, as `file:line:column` below its folder; a position in its dependencies only if
 * none of its own is in the stack.
 */
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
