import { type Collection, type Op, put } from "@svc/sdk";
import { iterationOf, nodeOf } from "../engine/step-ids.ts";
import type { Entry } from "../engine/types.ts";
import { STEPS, type StepRow } from "./run-rows.ts";

/** The rows of a run's steps, as the journal makes them. Those of live steps are kept while the run is in memory. */
export class StepRows {
  readonly #runId: string;
  readonly #stored: Collection<StepRow>;
  readonly #rows = new Map<string, StepRow>();

  constructor(runId: string, stored: Collection<StepRow>) {
    this.#runId = runId;
    this.#stored = stored;
  }

  /** The row of a step of this run. */
  async get(step: string): Promise<StepRow | undefined> {
    return this.#rows.get(step) ?? (await this.#stored.get(`${this.#runId}/${step}`))?.value;
  }

  /** The rows after these entries, and the writes for them. `keep` them when they are stored. */
  async after(entries: readonly Entry[]): Promise<{ readonly rows: ReadonlyMap<string, StepRow>; readonly ops: readonly Op[] }> {
    const rows = new Map<string, StepRow>();
    for (const entry of entries) {
      if (!("step" in entry) || typeof entry.step !== "string") continue;
      const row = after(rows.get(entry.step) ?? (begins(entry) ? undefined : await this.get(entry.step)), entry);
      if (row !== undefined) rows.set(entry.step, row);
    }
    return { rows, ops: [...rows].map(([step, row]) => put(STEPS, `${this.#runId}/${step}`, row)) };
  }

  keep(rows: ReadonlyMap<string, StepRow>): void {
    for (const [step, row] of rows)
      if (row.endedAt === undefined) this.#rows.set(step, row);
      else this.#rows.delete(step);
  }
}

const begins = ({ kind }: Entry) => kind === "step.ready" || kind === "join.fired" || kind === "join.short";

/** Undefined for an entry that says nothing of the step itself. */
function after(row: StepRow | undefined, entry: Entry): StepRow | undefined {
  const { at } = entry;
  switch (entry.kind) {
    case "step.ready":
      return { node: entry.node, iteration: entry.iteration, status: "ready", attempt: 0, readyAt: at, seq: entry.seq };
    case "join.fired":
      return { ...joined(entry), status: "ok", output: entry.output, ports: ["out"] };
    case "join.short":
      return { ...joined(entry), status: "failed", error: entry.error, ports: entry.port === null ? [] : [entry.port] };
    default:
      return row === undefined ? undefined : changed(row, entry);
  }
}

const joined = ({ step, at, seq }: Entry<"join.fired" | "join.short">) => ({
  node: nodeOf(step),
  iteration: iterationOf(step),
  attempt: 1,
  readyAt: at,
  endedAt: at,
  seq,
});

function changed(row: StepRow, entry: Entry): StepRow | undefined {
  const { at } = entry;
  switch (entry.kind) {
    case "step.claimed":
      return { ...row, status: "running", attempt: entry.attempt, claimedAt: at, ...(entry.input === undefined ? {} : { input: entry.input }) };
    case "step.waiting":
      return { ...row, status: "waiting" };
    case "step.retry":
      return { ...row, status: "waiting", error: entry.error };
    case "step.ended": {
      const { error: _error, ...rest } = row;
      return { ...rest, status: "ok", output: entry.output, ports: entry.ports, endedAt: at };
    }
    case "step.failed":
      return {
        ...row,
        status: entry.error.code === "TIMEOUT" ? "timeout" : "failed",
        error: entry.error,
        ports: entry.port === null ? [] : [entry.port],
        endedAt: at,
      };
    case "step.canceled":
      return { ...row, status: "canceled", endedAt: at };
    case "task.created":
      return { ...row, taskId: entry.taskId };
    case "child.started":
      return { ...row, childRunId: entry.runId };
    default:
      return undefined;
  }
}
