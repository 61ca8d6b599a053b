import { namesOf } from "../engine/names.ts";
import type { RunState, StepState } from "../engine/types.ts";
import type { Shelf } from "./shelf.ts";

/** Returns the names that the expressions of a step can read, with large values loaded. `more`: names of one field alone, such as `payload` of a signal. */
export async function namesFor(
  { state, step, shelf }: { readonly state: RunState; readonly step: StepState; readonly shelf: Shelf },
  more: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const { run, ...values } = namesOf(state, step.id);
  return { ...((await shelf.whole(values)) as object), run: { ...run, attempt: step.attempt }, ...more };
}
