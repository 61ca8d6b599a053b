import { when } from "../../kit/figures.ts";
import type { State } from "../../kit/glyph.tsx";
import { waitText } from "../../words/processes.ts";
import type { Run } from "./run-types.ts";
import type { RowState } from "./timeline-rows.ts";

const STATES: Readonly<Record<Run["status"] | RowState, State>> = {
  running: "running",
  paused: "paused",
  completed: "ok",
  failed: "failed",
  canceled: "cancelled",
  ready: "queued",
  waiting: "waiting",
  ok: "ok",
  timeout: "timed-out",
  skipped: "skipped",
};

/** Returns the glyph of a run or a step. A running run that only waits is drawn as waiting. */
export const glyphOf = (status: Run["status"] | RowState): State => STATES[status];

/** As `glyphOf`, for a run. */
export function runGlyph({ status, waits }: Pick<Run, "status" | "waits">): State {
  const still = status === "running" && waits.length > 0 && waits.every(({ kind }) => kind !== "effect" && kind !== "items");
  return still ? "waiting" : glyphOf(status);
}

/** In one line where a run stands: its failed step, for what it waits, what it does. */
export function standsAt({ status, waits, error }: Pick<Run, "status" | "waits" | "error">): string | undefined {
  if (status === "failed") return error?.node ?? error?.code;
  if (status === "completed" || status === "canceled") return undefined;
  const wait = waits.find(({ kind }) => kind !== "effect" && kind !== "items") ?? waits.find(({ kind }) => kind === "effect") ?? waits[0];
  if (wait === undefined) return undefined;
  const more = waits.length > 1 ? ` +${waits.length - 1}` : "";
  if (wait.kind === "effect" || wait.kind === "items") return `${wait.node}${more}`;
  return `${waitText(wait.kind, wait.for, { until: wait.until === undefined ? undefined : when(wait.until) })}${more}`;
}

/** The end of an id: enough to tell the runs of a list apart. */
export const shortId = (id: string): string => id.slice(-6);

/** `a91f03` of a whole hash. */
export const shortHash = (hash: string): string => hash.replace(/^sha256[:-]/, "").slice(0, 6);
