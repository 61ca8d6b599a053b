import { sleep, type TierEvent } from "@svc/sdk";
import { piecesOf } from "./pieces.ts";
import type { LocalSettings } from "./settings.ts";

/** Says the prompt back in pieces, with the pauses, the step and the failure that the settings ask for. */
export async function* echo(prompt: string, { chunks = 3, delayMs = 0, step = false, fail }: LocalSettings, signal: AbortSignal): AsyncIterable<TierEvent> {
  if (step) {
    yield { type: "step", step: { id: "echo", name: "echo-tool", phase: "start", input: `${prompt.length} characters` } };
    yield { type: "step", step: { id: "echo", name: "echo-tool", phase: "end", output: "done" } };
  }
  for (const text of piecesOf(prompt, chunks)) {
    if (delayMs > 0) await sleep(delayMs, signal);
    if (signal.aborted) return;
    yield { type: "text", text };
  }
  // No model was asked, so no tokens were used.
  yield { type: "usage", usage: { input: 0, output: 0 } };
  if (fail === undefined) yield { type: "done" };
  else yield { type: "error", kind: "echo", message: fail };
}
