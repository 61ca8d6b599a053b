import { type PluginContext, reasonOf, type TierEvent, type Turn, type WorkflowRun, type Workflows } from "@svc/sdk";
import { bestMatch, inputsOf } from "./score.ts";

/** The section `workflows.matching`. */
export interface MatchingSettings {
  readonly enabled: boolean;
  readonly mode: "suggest" | "auto";
  readonly autoRunThreshold: number;
  readonly suggestThreshold: number;
}

/** Dependencies of matching. */
export interface MatchingOptions {
  readonly workflows: Pick<Workflows, "list" | "start" | "run" | "wait">;
  readonly settings: () => MatchingSettings;
  readonly log: PluginContext["log"];
}

/** Ways in by which a person speaks. A step of a workflow, a job or a notice is never taken for a wish. */
const ENTRIES: ReadonlySet<string> = new Set(["channel", "task"]);
/** Time that the sender's turn waits for the end of the run; then the answer says where to find it. */
const WAIT_MS = 600_000;
const LOOK_MS = 2_000;
/** Waits whose end is not in the daemon's hands. */
const OUTSIDE: ReadonlySet<string> = new Set(["task", "incident", "signal", "timer"]);
const LONGEST_ANSWER = 20_000;

/**
 * Whether a message starts a workflow in place of its agent (WF-11): the stream that takes the turn over, or undefined for the agent. With
 * mode `suggest` a match is only logged. Inputs that the message does not say, and a start that is refused, are logged, and the agent answers.
 */
export async function matchTurn(turn: Turn, { workflows, settings, log }: MatchingOptions): Promise<AsyncIterable<TierEvent> | undefined> {
  const { enabled, mode, autoRunThreshold, suggestThreshold } = settings();
  const [message] = turn.messages;
  if (!enabled || turn.messages.length > 1 || !ENTRIES.has(message.entry) || message.runId !== undefined) return undefined;
  const match = bestMatch(message.text, await workflows.list());
  if (match === undefined || match.score < Math.min(suggestThreshold, autoRunThreshold)) return undefined;
  const { workflow, score } = match;
  const facts = { workflow: workflow.id, score: Math.round(score * 1000) / 1000, taskId: turn.id, mode };
  if (mode !== "auto" || score < autoRunThreshold) {
    if (score >= suggestThreshold) log.info(facts, `a message is like the workflow ${workflow.id}; its agent answers it`);
    return undefined;
  }
  const { input, missing } = inputsOf(workflow, message);
  if (missing.length > 0) {
    log.warn({ ...facts, missing }, `a message means the workflow ${workflow.id} but does not say ${missing.join(", ")}; its agent answers it`);
    return undefined;
  }
  log.info(facts, `a message starts the workflow ${workflow.id}`);
  return runInstead(workflow.id, input, turn, { workflows, log });
}

/** The turn of an agent whose work a workflow does. */
async function* runInstead(
  id: string,
  input: Record<string, unknown>,
  turn: Turn,
  { workflows, log }: Pick<MatchingOptions, "workflows" | "log">,
): AsyncGenerator<TierEvent> {
  const [message] = turn.messages;
  // First of all: where the kernel does not let the turn be taken over, it ends here, and no run is started beside the agent's.
  yield { type: "step", step: { id: "workflow", name: `workflow ${id}`, phase: "start" } };
  let runId: string;
  try {
    // The message's own id: after a restart the turn finds the run that it has started.
    ({ runId } = await workflows.start(id, { input, startKey: `${message.channel}:${message.id}`, entry: { kind: "match", ref: message.id } }));
  } catch (error) {
    const reason = `the workflow ${id} was not started: ${reasonOf(error)}`;
    log.warn({ workflow: id, taskId: turn.id, err: error }, `${reason}; the agent answers`);
    yield { type: "pass", reason };
    return;
  }
  yield { type: "parked", reason: `run ${runId} of the workflow ${id}` };
  const run = await ended(runId, workflows).catch((error) => {
    log.warn({ workflow: id, run: runId, err: error }, `the end of the run ${runId} cannot be waited for`);
    return undefined;
  });
  yield { type: "step", step: { id: "workflow", name: `workflow ${id}`, phase: "end", output: `${runId} ${run?.status ?? "goes on"}` } };
  yield { type: "done", text: answerOf(id, runId, run) };
}

/** The run once it has ended; undefined where it takes long, or waits for something that is not the daemon's: a person, a signal, a time. */
async function ended(runId: string, workflows: Pick<Workflows, "wait" | "run">): Promise<WorkflowRun | undefined> {
  for (const until = Date.now() + WAIT_MS; Date.now() < until; ) {
    const pause = AbortSignal.timeout(LOOK_MS);
    try {
      return await workflows.wait(runId, pause);
    } catch (error) {
      if (!pause.aborted) throw error;
    }
    const { waits = [] } = (await workflows.run(runId)) ?? {};
    if (waits.length > 0 && waits.every(({ kind }) => OUTSIDE.has(kind))) return undefined;
  }
  return undefined;
}

/** Text for the sender. */
function answerOf(id: string, runId: string, run: WorkflowRun | undefined): string {
  if (run === undefined) return `The workflow ${id} was started and goes on as ${runId}.`;
  if (run.status === "canceled") return `The workflow ${id} was canceled (${runId}).`;
  if (run.status === "failed") return `The workflow ${id} failed (${runId}): ${run.error?.message ?? "no reason"}`;
  const { output } = run;
  if (output === undefined || output === null || output === "") return `The workflow ${id} is done (${runId}).`;
  const { reply } = output as { reply?: unknown };
  const text = typeof output === "string" ? output : typeof reply === "string" ? reply : JSON.stringify(output, undefined, 2);
  return text.length > LONGEST_ANSWER ? `${text.slice(0, LONGEST_ANSWER)}\n...` : text;
}
