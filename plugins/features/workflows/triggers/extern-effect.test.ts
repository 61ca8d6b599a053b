import { expect, it } from "vitest";
import type { EffectCall } from "../runs/effects.ts";
import type { Extern, ExternRun } from "./extern.ts";
import { externEffect } from "./extern-effect.ts";

/** Another svc: a key is one run, and the answer to a start tells its state and nothing more. `ends` says how its runs end, one after the other. */
function service(...ends: Partial<ExternRun>[]) {
  const runs = new Map<string, ExternRun>();
  const byKey = new Map<string, string>();
  const extern: Extern = {
    async start(_id, _input, key) {
      const runId = byKey.get(key) ?? `run_${byKey.size + 1}`;
      byKey.set(key, runId);
      const run = runs.get(runId) ?? { runId, status: "completed", ...ends.shift() };
      runs.set(runId, run);
      return { runId, status: run.status };
    },
    look: async (runId) => runs.get(runId) as ExternRun,
    cancel: async () => true,
  };
  return { extern, byKey };
}

const call = (attempt: number): EffectCall =>
  ({
    node: { id: "call", kind: "subProcess", workflow: "extern:order" },
    given: { workflow: "extern:order", input: {} },
    key: "run_9/call/1",
    step: { id: "call/1", attempt },
    signal: new AbortController().signal,
  }) as unknown as EffectCall;

const inner = () => Promise.reject(new Error("it is no run of this daemon"));

it("a run elsewhere that is over at once, or was found again after a stop, gives its output", async () => {
  const { extern, byKey } = service({ output: { ordered: true } });
  const run = externEffect(extern, inner);
  expect(await run(call(1))).toEqual({ output: { ordered: true } });
  // The daemon was stopped before it had stored that.
  expect(await run({ ...call(1), again: true })).toEqual({ output: { ordered: true } });
  expect(byKey.size).toBe(1);
});
