import { codeOf, type PluginContext, type WorkflowSignal } from "@svc/sdk";
import type { Definition } from "../engine/types.ts";
import { checkInput } from "../runs/input-schema.ts";
import { ofRun } from "../runs/run-rows.ts";
import type { Runs } from "../runs/runs.ts";
import { newRunId, schemaOf } from "../runs/starts.ts";
import type { Replay } from "./replay.ts";

/** Options of a replay. */
export interface ReplayQuery {
  /** Of what the recorded answers are: a task, or a run; default the first task that the draft was made from. */
  readonly taskId?: string;
  /** Default what was given then. */
  readonly input?: Readonly<Record<string, unknown>>;
}

const MINUTE_MS = 60_000;
/** Nothing in it takes time. */
const MINUTES = 60;

/**
 * Starts a run of a definition that is no workflow yet, under the name `adhoc-replay-<id>-<ts>`: its agents, actions, sub-processes and people
 * answer from what was recorded. Throws where nothing is recorded (404) and where the input does not fit (400).
 */
export async function startReplay(
  { events }: Pick<PluginContext, "events">,
  runs: Pick<Runs, "host" | "rooms" | "signal">,
  replay: Pick<Replay, "source">,
  { definition, hash }: { readonly definition: Definition; readonly hash: string },
  { taskId = definition.sourceTaskIds?.[0], input }: ReplayQuery,
): Promise<{ readonly runId: string; readonly name: string }> {
  const source = taskId === undefined ? undefined : await replay.source(taskId);
  const given = checkInput(definition.id, schemaOf(definition), input ?? source?.input ?? {});
  const at = Date.now();
  const runId = newRunId(at);
  const name = `adhoc-replay-${definition.id}-${new Date(at).toISOString().replace(/[:.]/g, "-")}`;
  await events.root(async () => {
    const rootId = events.current()?.rootId ?? runId;
    const entry = { kind: "replay" as const, ...(source === undefined ? {} : { ref: source.id }) };
    const head = { id: runId, workflow: definition.id, hash, rootId, depth: 0, entry, input: given, timeoutAt: at + MINUTES * MINUTE_MS };
    await runs.host.create({ definition, head, name, ...(source === undefined ? {} : { replayOf: source.id }) });
  });
  // Signals to the answering run are sent to this one: stored until a step waits for them.
  if (source !== undefined)
    for await (const { value } of ofRun(runs.rooms.entries, source.id))
      if (value.kind === "signal.received")
        await send(runs, runId, {
          name: value.name,
          payload: await runs.host.whole(source.id, { chars: 0, shelved: 1 }, value.payload),
          key: `${source.id}:${value.seq}`,
        });
  return { runId, name };
}

/** One that is over already needs no signal. */
async function send(runs: Pick<Runs, "signal">, runId: string, signal: WorkflowSignal): Promise<void> {
  try {
    await runs.signal(runId, signal);
  } catch (error) {
    if (codeOf(error) !== "SVC_WORKFLOW_RUN_STATE") throw error;
  }
}
