import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, reasonOf } from "@svc/sdk";
import { CANCELED, type EffectCall, type EffectEnd, type EffectRunner } from "../runs/effects.ts";
import { EXTERN, type Extern, type ExternRun, externPause } from "./extern.ts";

/** Looks that fail in a row, until the step does: some ten minutes of a service that is away. */
const FAILED_LOOKS = 25;

/**
 * Steps of the kind `subProcess` whose workflow is `extern:<id>`: started there under the step's key and looked at until it ends, after a stop
 * of the daemon too; all others are `inner`'s.
 */
export const externEffect =
  (extern: Extern, inner: EffectRunner): EffectRunner =>
  async (call) => {
    const { node, given, signal } = call;
    const workflow = String(given["workflow"] ?? (node.kind === "subProcess" ? node.workflow : ""));
    if (!workflow.startsWith(EXTERN)) return inner(call);
    let run: ExternRun | undefined;
    try {
      run = await begun(extern, workflow.slice(EXTERN.length), call);
      // The answer to a start tells no output: of a run that is over at once, or was found again after a stop.
      if (!isLive(run) && run.output === undefined) run = await extern.look(run.runId, signal);
      for (let looks = 0, failed = 0; isLive(run); looks += 1) {
        await sleep(externPause(looks), undefined, { signal });
        try {
          run = await extern.look(run.runId, signal);
          failed = 0;
        } catch (error) {
          if (signal.aborted || codeOf(error) !== "EXTERN_AWAY" || ++failed > FAILED_LOOKS) throw error;
        }
      }
    } catch (error) {
      if (!signal.aborted) return faultOf(error);
      // The step is over, and not only the daemon: what it started elsewhere is not wanted.
      if (signal.reason === CANCELED && run !== undefined) await extern.cancel(run.runId, AbortSignal.timeout(5_000)).catch(() => false);
      return undefined;
    }
    return endOf(run);
  };

const isLive = ({ status }: ExternRun): boolean => status === "running" || status === "paused";

/**
 * The run of this attempt, under its key, so that it is found again after a stop. One of an attempt before that has failed or was canceled there
 * is not taken once more; one that goes on, because only the way to it was away, is.
 */
async function begun(extern: Extern, workflow: string, { given, key, step, signal }: EffectCall): Promise<ExternRun> {
  for (let attempt = 1; ; attempt += 1) {
    const run = await extern.start(workflow, given["input"], attempt === 1 ? key : `${key}#${attempt}`, signal);
    if (attempt >= step.attempt || isLive(run) || run.status === "completed") return run;
  }
}

function endOf({ runId, status, output, error }: ExternRun): EffectEnd {
  if (status === "completed") return { output: output ?? null };
  const code = status === "canceled" ? "CHILD_CANCELED" : "CHILD_FAILED";
  const words = status === "canceled" ? "was canceled" : `failed: ${error?.message ?? "no reason given"}`;
  return { fault: { code, message: `the external run '${runId}' ${words}`, ...(error === undefined ? {} : { details: error }) } };
}

function faultOf(error: unknown): EffectEnd {
  const { retryable } = error as { readonly retryable?: boolean };
  return { fault: { code: codeOf(error) ?? "ERROR", message: reasonOf(error) }, ...(retryable === undefined ? {} : { retryable }) };
}
