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

it("a further attempt starts a run of its own where the one before has failed there, and tells the reason of the last one", async () => {
  const { extern, byKey } = service(
    { status: "failed", error: { code: "NO", message: "sold out" } },
    { status: "failed", error: { code: "NO", message: "closed" } },
    { output: 3 },
  );
  const run = externEffect(extern, inner);
  expect(await run(call(1))).toMatchObject({ fault: { code: "CHILD_FAILED", message: expect.stringContaining("sold out") } });
  expect(await run(call(2))).toMatchObject({ fault: { code: "CHILD_FAILED", message: expect.stringContaining("closed") } });
  expect(await run({ ...call(2), again: true })).toMatchObject({ fault: { message: expect.stringContaining("closed") } });
  expect(await run(call(3))).toEqual({ output: 3 });
  expect([...byKey.keys()]).toEqual(["run_9/call/1", "run_9/call/1#2", "run_9/call/1#3"]);
});

it("a further attempt finds the run that goes on there, where only the way to it was away", async () => {
  const { extern, byKey } = service({ output: "late" });
  await extern.start("order", {}, "run_9/call/1", new AbortController().signal);
  expect(await externEffect(extern, inner)(call(2))).toEqual({ output: "late" });
  expect(byKey.size).toBe(1);
});
