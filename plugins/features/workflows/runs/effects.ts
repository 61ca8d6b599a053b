import { codeOf, type PluginContext, reasonOf } from "@svc/sdk";
import { graphOf } from "../engine/graph.ts";
import type { Definition, Input, Node, RunError, StepState } from "../engine/types.ts";
import type { Batch } from "./batch.ts";
import type { Host } from "./host.ts";
import type { RunRow } from "./run-rows.ts";

/** One attempt of a step with an effect. */
export interface EffectCall {
  readonly runId: string;
  readonly row: RunRow;
  readonly node: Node;
  readonly ownerAgent?: string;
  readonly step: StepState;
  /** Input from its claim. */
  readonly given: Readonly<Record<string, unknown>>;
  /** The same for all attempts. */
  readonly key: string;
  /** An earlier life of the daemon has begun this attempt. */
  readonly again: boolean;
  /** Aborts with `CANCELED` when it is not wanted any more, with another reason when the plugin stops. */
  readonly signal: AbortSignal;
}

/** The reason of a signal where the step is over, and not only the daemon. */
export const CANCELED = "canceled";

/**
 * Result of an effect: its output, its fault, another input, or undefined if the daemon stops first. `unwanted` is called if the step was abandoned
 * meanwhile.
 */
export type EffectEnd =
  | { readonly output: unknown }
  | { readonly fault: RunError; readonly retryable?: boolean }
  | { readonly input: (batch: Batch) => Input | undefined; readonly unwanted: () => Promise<void> }
  | undefined;

/** Runs the effects of a kind of node. A rejection becomes the step's fault. */
export type EffectRunner = (call: EffectCall) => Promise<EffectEnd>;

const AGAIN_MS = 5_000;

/** The effects at work in this daemon. Each begins after its claim is stored, and is over when its result is. */
export class Effects {
  readonly #ctx: Pick<PluginContext, "events" | "log">;
  readonly #host: Host;
  readonly #runners: Readonly<Partial<Record<Node["kind"], EffectRunner>>>;
  readonly #atWork = new Map<string, Map<string, { readonly step: StepState; readonly stop: AbortController; readonly end: Promise<void> }>>();
  #stopping = false;

  constructor(ctx: Pick<PluginContext, "events" | "log">, host: Host, runners: Readonly<Partial<Record<Node["kind"], EffectRunner>>>) {
    this.#ctx = ctx;
    this.#host = host;
    this.#runners = runners;
  }

  /** Whether anything of the run is at work here. */
  has = (runId: string): boolean => this.#atWork.has(runId);

  /** Number of running effects. */
  get size(): number {
    return [...this.#atWork.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Does what a stored commit asks for. */
  follow(runId: string, row: RunRow, batch: Batch, definition: Definition): void {
    for (const command of batch.after) {
      if (command.do === "cancelEffect") this.cancel(runId, command.step);
      else if (command.do === "effect" || command.do === "startChild")
        this.begin(runId, row, definition, { step: command.step, given: batch.given.get(command.step) ?? {}, again: false });
    }
  }

  /** Begins an effect whose claim is stored, unless it is at work. */
  begin(
    runId: string,
    row: RunRow,
    definition: Definition,
    { step: id, given, again }: { readonly step: string; readonly given: object; readonly again: boolean },
  ): void {
    const step = row.state.steps[id];
    const node = graphOf(definition).places.get(step?.node ?? "")?.node;
    const known = this.#atWork.get(runId) ?? new Map();
    // An attempt that was given up may still be ending when the next one begins.
    const attempt = `${id}#${step?.attempt}`;
    if (this.#stopping || step?.status !== "running" || node === undefined || known.has(attempt)) return;
    const stop = new AbortController();
    const { ownerAgent } = definition;
    const call: EffectCall = {
      runId,
      row,
      node,
      step,
      ...(ownerAgent === undefined ? {} : { ownerAgent }),
      given: given as EffectCall["given"],
      key: `${runId}/${id}`,
      again,
      signal: stop.signal,
    };
    // Events that it causes belong to the root of the run, not to that of the input behind its commit.
    const end = this.#ctx.events
      .within({ rootId: row.root }, () => this.#run(call))
      .finally(() => {
        known.delete(attempt);
        if (known.size === 0) this.#atWork.delete(runId);
        this.#host.forget(runId);
      });
    known.set(attempt, { step, stop, end });
    this.#atWork.set(runId, known);
  }

  cancel(runId: string, step: string): void {
    for (const [attempt, { stop }] of this.#atWork.get(runId) ?? []) if (attempt.startsWith(`${step}#`)) stop.abort(CANCELED);
  }

  /** Cancels what its run does not want any more, by the word of another daemon: that has stored it, and knows nothing of the work here. */
  async recheck(): Promise<void> {
    // Noted before the look at the rows: what begins meanwhile may be newer than these.
    const atWork = [...this.#atWork].map(([runId, steps]) => [runId, [...steps.values()]] as const);
    for (const [runId, steps] of atWork) {
      const row = await this.#host.load(runId);
      for (const { step, stop } of steps) {
        const now = row?.state.steps[step.id];
        if (now?.status !== "running" || now.attempt !== step.attempt) stop.abort(CANCELED);
      }
    }
  }

  /** Abandons all effects: work elsewhere, such as a turn, continues and is found by the next start. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const ends = [...this.#atWork.values()].flatMap((steps) => [...steps.values()]);
    for (const { stop } of ends) stop.abort("stopping");
    await Promise.all(ends.map(({ end }) => end));
  }

  async #run(call: EffectCall): Promise<void> {
    const end = await this.#attempt(call);
    if (end === undefined) return;
    if (!(await this.#deliver(call, end))) await this.#giveUp(call, end, true);
  }

  /** Ends the work of an abandoned attempt: not while the daemon stops, since the next start finds it then. */
  async #giveUp({ runId, step, signal }: EffectCall, end: EffectEnd, over = signal.aborted): Promise<void> {
    if (!over || end === undefined || !("unwanted" in end) || (signal.aborted && signal.reason !== CANCELED)) return;
    await end
      .unwanted()
      .catch((error) => this.#ctx.log.error({ err: error, run: runId, step: step.id }, `what ${step.id} had begun goes on: ${reasonOf(error)}`));
  }

  async #attempt(call: EffectCall): Promise<EffectEnd> {
    const runner = this.#runners[call.node.kind];
    try {
      if (runner === undefined) return { fault: { code: "ERROR", message: `nothing runs nodes of the kind ${call.node.kind}` }, retryable: false };
      const running = runner(call);
      // An effect that ignores its signal is not awaited; its work is abandoned when it arrives.
      running.then((late) => this.#giveUp(call, late)).catch(() => {});
      return await Promise.race([running, aborted(call.signal)]);
    } catch (error) {
      return { fault: { code: codeOf(error) ?? "ERROR", message: reasonOf(error) } };
    }
  }

  /** Gives whether the run still wanted it. The result waits in memory until it is stored: on a full disk that may take its time. */
  async #deliver({ runId, step, signal }: EffectCall, end: Exclude<EffectEnd, undefined>): Promise<boolean> {
    for (let failed = 0; !signal.aborted; failed += 1) {
      try {
        let wanted = false;
        await this.#host.input(runId, (batch) => {
          const live = batch.state.steps[step.id];
          if (live === undefined || live.attempt !== step.attempt || live.status !== "running") return undefined;
          wanted = true;
          return inputOf(batch, step.id, end);
        });
        return wanted;
      } catch (error) {
        const code = codeOf(error);
        if (code === "SVC_WORKFLOW_RUN_UNKNOWN" || code === "SVC_STORE_CLOSED") return false;
        if (failed === 0)
          this.#ctx.log.error(
            { err: error, run: runId, step: step.id },
            `the result of ${step.id} of run ${runId} is not stored yet; tried again every ${AGAIN_MS / 1_000} s`,
          );
        await pause(AGAIN_MS, signal);
      }
    }
    return false;
  }
}

/** Converts the result of an effect to an input; a too large output is a fault. */
function inputOf(batch: Batch, step: string, end: Exclude<EffectEnd, undefined>): Input | undefined {
  const at = Date.now();
  if ("input" in end) return end.input(batch);
  if ("fault" in end) return { kind: "fault", at, step, error: end.fault, ...(end.retryable === undefined ? {} : { retryable: end.retryable }) };
  try {
    return { kind: "result", at, step, output: batch.shelf.put(end.output) };
  } catch (error) {
    return { kind: "fault", at, step, error: { code: codeOf(error) ?? "ERROR", message: reasonOf(error) }, retryable: false };
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<undefined>((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(over, ms);
    function over() {
      clearTimeout(timer);
      signal.removeEventListener("abort", over);
      resolve();
    }
    signal.addEventListener("abort", over);
  });
