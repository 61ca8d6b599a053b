import { codeOf, reasonOf } from "@svc/sdk";
import type { EffectRunner } from "./effects.ts";
import type { ReplayPort } from "./ports.ts";

/** An effect that a replayed run does not have: it is answered from what was recorded. */
export const replayed =
  (real: EffectRunner, replay: ReplayPort | undefined): EffectRunner =>
  async (call) => {
    const { row, node, step, given } = call;
    if (row.replayOf === undefined && row.state.entry.kind !== "replay") return real(call);
    try {
      if (replay === undefined) throw Object.assign(new Error("nothing answers replayed runs here"), { code: "REPLAY_MISS" });
      return { output: await replay.answer(row, { node, iteration: step.iteration, input: given }) };
    } catch (error) {
      return { fault: { code: codeOf(error) ?? "REPLAY_MISS", message: reasonOf(error) }, retryable: false };
    }
  };
