import { evaluate } from "../expressions/evaluate.ts";
import type { Runs } from "../runs/runs.ts";
import type { TaskHost } from "./tasks.ts";

/** The runs, as tasks need them. */
export const taskHostOf = ({ host, rooms }: Pick<Runs, "host" | "rooms">): TaskHost => ({
  input: (runId, input) => host.input(runId, input),
  load: async (runId) => (await rooms.runs.get(runId))?.value,
  names: (runId, step) => host.names(runId, step),
  evaluate: (template, names) => evaluate(template, names, { at: Date.now() }),
});
