import { type State, stateOf } from "../kit/glyph.tsx";
import { SHELL } from "../words/shell.ts";

/** A run of a workflow, as a list of workflows has it. */
export interface LastRun {
  readonly status: string;
  readonly waitsForPerson?: true;
}

/** State at the right of a workflow's line: that of its newest run; one that waits for a person is not shown as running. */
export function lastRun([newest]: readonly LastRun[] = []): { readonly note: string; readonly state: State } | undefined {
  if (newest === undefined) return undefined;
  const status = newest.waitsForPerson === true ? "waiting" : newest.status;
  return { note: SHELL.lastRun(status), state: stateOf(status) };
}
