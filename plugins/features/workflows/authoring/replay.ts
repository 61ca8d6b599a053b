import { codeOf, type PluginContext, reasonOf, svcError, type Trace } from "@svc/sdk";
import { graphOf } from "../engine/graph.ts";
import type { Definition, Input, Node, NodeKind, RunError } from "../engine/types.ts";
import type { ReplayPort } from "../runs/ports.ts";
import { ofRun, type RunRooms, type RunRow } from "../runs/run-rows.ts";

/** An answer that was recorded. */
interface Recorded {
  /** Of the node that got it, where a run of a workflow is replayed. */
  readonly node?: string;
  readonly kind: NodeKind;
  /** The agent, the action or the workflow. */
  readonly target?: string;
  readonly output?: unknown;
  readonly error?: RunError;
  /** Of a task of a person: the port that was taken. */
  readonly port?: string;
}

/** Source of a replay, and the input for a draft. */
export interface ReplaySource {
  /** Of what the answers are: a task, or a run of a workflow. */
  readonly id: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Answers for effects of replayed runs: no request is sent and no program runs. */
export interface Replay extends ReplayPort {
  /** Returns the record of that task or run. Throws `SVC_TRACE_UNKNOWN` (404) without one. */
  source(id: string): Promise<ReplaySource>;
  /** Returns the answer for a task of a replayed run: the recorded values, or that there are none. Undefined for a task of an ordinary run. */
  task(runId: string, step: string): Promise<Input | undefined>;
}

const ANSWERED: ReadonlySet<NodeKind> = new Set(["agent", "action", "subProcess", "userTask", "approval"]);
const SHOWN = 2_000;

/** Whole values of a run: its rows may hold references in their place. */
export type WholeValue = (runId: string, row: RunRow, value: unknown) => Promise<unknown>;

/** Makes the answers from traces and the rows of runs. */
export function createReplay(
  { traces }: Pick<PluginContext, "traces">,
  rooms: Pick<RunRooms, "runs" | "steps" | "entries" | "definitions">,
  whole: WholeValue,
): Replay {
  const replay: Replay = {
    async source(id) {
      const run = (await rooms.runs.get(id))?.value;
      if (run !== undefined) return { id, input: objectOf(await whole(id, run, run.state.input)) };
      const trace = await traces.get(id);
      if (trace === undefined)
        throw svcError("SVC_TRACE_UNKNOWN", `Nothing is recorded under '${id}': name a task or a run that is still kept.`, { status: 404 });
      const { message = trace.messagePreview ?? "", sender, channel, chat } = trace;
      return { id, input: { message, ...(sender === undefined ? {} : { sender }), channel, chatId: chat } };
    },
    async answer(row, { node, iteration, input }) {
      const definition = (await rooms.definitions.get(row.hash))?.value;
      const left = row.replayOf === undefined ? [] : await recorded(row.replayOf);
      // The assignment of answers follows from the journal alone: after a stop of the daemon a step gets the same one.
      const step = `${node.id}/${iteration}`;
      for (const earlier of await claimed(row, definition)) {
        if (earlier.step === step) break;
        take(left, earlier.node, {});
      }
      const found = take(left, node, objectOf(input));
      if (found === undefined) throw miss(node, input);
      if (found.error !== undefined) throw svcError(found.error.code, found.error.message, { details: found.error.details });
      return found.port === undefined ? found.output : { port: found.port, output: found.output };
    },
    async task(runId, step) {
      const row = (await rooms.runs.get(runId))?.value;
      const live = row?.state.steps[step];
      if (row?.state.entry.kind !== "replay" || live === undefined) return undefined;
      const definition = (await rooms.definitions.get(row.hash))?.value;
      const node = definition === undefined ? undefined : graphOf(definition).places.get(live.node)?.node;
      if (node === undefined) return undefined;
      const at = Date.now();
      try {
        const { port = "out", output } = (await replay.answer(row, { node, iteration: live.iteration, input: {} })) as { port?: string; output?: unknown };
        const { values = {}, by } = objectOf(output);
        return { kind: "submit", at, step, port, values, ...(typeof by === "string" ? { by } : {}) };
      } catch (error) {
        return { kind: "fault", at, step, error: { code: codeOf(error) ?? "ERROR", message: reasonOf(error) }, retryable: false };
      }
    },
  };
  return replay;

  /** The steps of a replay that ask for answers, in the order in which they began. */
  async function claimed({ state }: RunRow, definition: Definition | undefined) {
    const steps = new Map<string, Node>();
    if (definition === undefined) return [];
    const { places } = graphOf(definition);
    for await (const { value } of ofRun(rooms.entries, state.id)) {
      if (value.kind !== "step.claimed" || steps.has(value.step)) continue;
      const place = places.get(value.step.split("/")[0] ?? "");
      if (place !== undefined && ANSWERED.has(place.node.kind)) steps.set(value.step, place.node);
    }
    return [...steps].map(([step, node]) => ({ step, node }));
  }

  async function recorded(id: string): Promise<Recorded[]> {
    const run = (await rooms.runs.get(id))?.value;
    if (run !== undefined) return ofRunRecorded(id, run);
    const trace = await traces.get(id);
    if (trace === undefined) return [];
    const owner = trace.runId === undefined ? undefined : (await rooms.runs.get(trace.runId))?.value;
    return owner === undefined || trace.runId === undefined ? ofTrace(trace) : ofRunRecorded(trace.runId, owner);
  }

  async function ofRunRecorded(id: string, run: RunRow): Promise<Recorded[]> {
    const definition = (await rooms.definitions.get(run.hash))?.value;
    if (definition === undefined) return [];
    const { places } = graphOf(definition);
    const met: (Recorded & { readonly at: number })[] = [];
    for await (const { value } of ofRun(rooms.steps, id)) {
      const node = places.get(value.node)?.node;
      if (node === undefined || !ANSWERED.has(node.kind) || (value.status !== "ok" && value.status !== "failed" && value.status !== "timeout")) continue;
      const target = targetOf(node, objectOf(value.input));
      const port = node.kind === "userTask" || node.kind === "approval" ? value.ports?.[0] : undefined;
      met.push({
        at: value.endedAt ?? 0,
        node: node.id,
        kind: node.kind,
        ...(target === undefined ? {} : { target }),
        ...(value.error === undefined ? { output: await whole(id, run, value.output) } : { error: value.error }),
        ...(port === undefined ? {} : { port }),
      });
    }
    return met.sort((left, right) => left.at - right.at);
  }
}

/** Returns the answers in the trace of a task: its agent's reply, and the actions that it called. */
function ofTrace({ id, agent, response = "", output, sessionId, error, errorKind, status, steps }: Trace): Recorded[] {
  const failed = status === "ok" ? undefined : { code: "ERROR", message: error ?? errorKind ?? `the task ended: ${status}` };
  const reply = { reply: response, taskId: id, ...(output === undefined ? {} : { value: output }), ...(sessionId === undefined ? {} : { sessionId }) };
  const turn: Recorded = { kind: "agent", target: agent, ...(failed === undefined ? { output: reply } : { error: failed }) };
  const actions = steps.flatMap(({ envelope }): Recorded[] => {
    if (envelope === undefined) return [];
    const { action: target, status: state, output: made, error: reason = "no reason" } = envelope;
    return [{ kind: "action", target, ...(state === "ok" ? { output: made } : { error: { code: "ERROR", message: reason } }) }];
  });
  return [turn, ...actions];
}

/** Takes the answer of a node out of those that are left: that of the node itself, else the next of its kind and target. */
function take(left: Recorded[], node: Node, input: Readonly<Record<string, unknown>>): Recorded | undefined {
  const target = targetOf(node, input);
  const own = left.findIndex((one) => one.node === node.id && one.kind === node.kind);
  const at = own !== -1 ? own : left.findIndex((one) => one.kind === node.kind && (target === undefined || one.target === undefined || one.target === target));
  return at === -1 ? undefined : left.splice(at, 1)[0];
}

/** Returns the target of a node; undefined if it is an expression, or the owner. */
function targetOf(node: Node, input: Readonly<Record<string, unknown>>): string | undefined {
  if (node.kind === "action") return node.action;
  if (node.kind === "subProcess") return node.workflow;
  const named = node.kind === "agent" ? (input["agent"] ?? node.agent) : undefined;
  return typeof named === "string" && !named.includes("{{") ? named : undefined;
}

function miss(node: Node, input: unknown) {
  const sent = JSON.stringify(input) ?? "nothing";
  const message = `Nothing that was recorded answers the ${node.kind} '${node.id}'. It would have sent: ${sent.slice(0, SHOWN)}`;
  return svcError("REPLAY_MISS", message, {
    retryable: false,
    details: { node: node.id, kind: node.kind, sent: sent.length > SHOWN ? sent.slice(0, SHOWN) : input },
  });
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
