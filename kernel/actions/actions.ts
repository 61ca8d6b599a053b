import { type Action, type ActionCall, type ActionEnvelope, type Actions, linked, put, reasonOf, type TraceStep } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { present } from "../base/present.ts";
import { type SchemaError, schemaCheck } from "../base/schema/schema-check.ts";
import type { ActionDeps } from "../core/flow/actions-port.ts";
import { newTaskId, type TaskRecord, TRACES } from "../core/flow/record.ts";
import { openStep } from "../core/flow/trace-steps.ts";
import { call } from "../core/host/call.ts";
import type { Owned } from "../core/host/scope.ts";

/** Longer values, in JSON characters, are truncated in the trace; the caller gets the whole value. */
const TRACED = 4_000;
/** The longest output of an action, in characters of JSON. */
const OUTPUT_LIMIT = 16_777_216;

/** The one way to call an action, whatever the door: checked in, timed, checked out, traced. */
export function createActions(deps: ActionDeps): Actions {
  function whatIsWrong({ thing: action, scope }: Owned<Action>, way: "input" | "output", value: unknown): string | undefined {
    try {
      const check = schemaCheck(action[way], "body");
      return check.fits(value) ? undefined : inWords(check.errors(value)[0]);
    } catch (error) {
      throw fail("SVC_PLUGIN_PROVIDES", {
        plugin: scope.id,
        kind: `the action ${action.name}`,
        reason: `the schema of its ${way} does not compile: ${reasonOf(error)}`,
      });
    }
  }

  /** Fields that a call inherits from the running task that it is part of; of these, its caller may set agent and chain itself. */
  function onBehalf(taskId: string | undefined): Pick<ActionCall, "agent" | "chain" | "topic" | "autonomy"> {
    const task = taskId === undefined ? undefined : deps.task(taskId);
    if (task === undefined) return {};
    const { chain, topic, autonomy } = task.inbound.options ?? {};
    return { agent: task.agent, ...present({ chain, topic, autonomy }) };
  }

  async function perform(owned: Owned<Action>, input: unknown, asked: Parameters<Actions["run"]>[2]): Promise<unknown> {
    const { thing: action, scope } = owned;
    const wrongInput = whatIsWrong(owned, "input", input);
    if (wrongInput !== undefined) throw fail("SVC_ACTION_INPUT", { action: action.name, reason: wrongInput });
    const { step: _step, shown: _shown, approved, ...facts } = asked;
    const inherited = onBehalf(asked.taskId);
    const { topic, autonomy = asked.autonomy } = inherited;
    if ((autonomy === "report" || autonomy === "propose") && action.restricted !== true && approved !== true)
      throw fail("SVC_ACTION_RESTRICTED", { action: action.name, autonomy });
    const stop = linked(asked.signal);
    const context: ActionCall = { ...inherited, ...facts, ...present({ topic, autonomy }), signal: stop.signal };
    try {
      const output = await call(
        { scope, what: `action ${action.name}`, limitMs: action.timeoutMs, run: () => action.run(input as Record<string, unknown>, context) },
        [],
        stop.signal,
      );
      const reason = whatIsWrong(owned, "output", output) ?? whyNotSent(output);
      if (reason !== undefined) throw fail("SVC_ACTION_OUTPUT", { action: action.name, reason });
      return output;
    } catch (error) {
      const code = (error as { code?: string } | null | undefined)?.code;
      if (code === "SVC_PLUGIN_TIMEOUT") {
        stop.abort(error);
        const late = fail("SVC_ACTION_TIMEOUT", { action: action.name, ms: action.timeoutMs });
        deps.failed(scope, `action ${action.name}`, late);
        throw late;
      }
      if (code === undefined || code === "SVC_ACTION_OUTPUT") deps.failed(scope, `action ${action.name}`, error);
      throw error;
    } finally {
      stop.release();
    }
  }

  async function trace(envelope: ActionEnvelope, asked: Parameters<Actions["run"]>[2], began: number): Promise<void> {
    const step: TraceStep = {
      name: envelope.action,
      kind: "action",
      at: began,
      durationMs: envelope.durationMs,
      ...(envelope.error === undefined ? {} : { error: envelope.error }),
      envelope: { ...envelope, input: cut(envelope.input), ...(envelope.output === undefined ? {} : { output: cut(envelope.output) }) },
    };
    const task = asked.taskId === undefined ? undefined : deps.task(asked.taskId);
    if (task !== undefined) {
      const openedStep = asked.step === undefined ? undefined : openStep(task.steps, asked.step);
      if (openedStep === undefined) task.steps.push(step);
      else Object.assign(openedStep, { envelope: step.envelope });
      return;
    }
    const id = newTaskId(deps.now());
    const rootId = deps.bus.current()?.rootId ?? deps.bus.newRoot();
    const record: TaskRecord = {
      id,
      inbound: { entry: "action", channel: asked.door, chat: envelope.action, text: "", id, rootId, at: began, attempts: 0 },
      status: envelope.status,
      agent: asked.agent ?? "",
      conversation: "",
      attempts: 1,
      startedAt: began,
      endedAt: deps.now(),
      steps: [step],
      ...(envelope.error === undefined ? {} : { error: envelope.error }),
    };
    // The action has taken effect: its caller does not wait for the fsync of the record.
    await deps.store.note([put(TRACES, id, record)]).catch((error) => deps.log.error({ err: error }, "the trace of an action was not stored"));
  }

  return {
    list: () =>
      [...deps.live().actions.values()].map(({ thing: { name, description, input, output, timeoutMs, unusable, restricted, repeatable } }) => ({
        name,
        description,
        input,
        output,
        timeoutMs,
        ...present({ unusable, restricted, repeatable }),
      })),
    async run(name, input, asked) {
      const began = deps.now();
      let envelope: ActionEnvelope;
      const shown = asked.shown ?? input;
      try {
        const owned = deps.live().actions.get(name);
        if (owned === undefined) throw fail("SVC_ACTION_UNKNOWN", { action: name });
        const output = await perform(owned, input, asked);
        envelope = { action: name, status: "ok", input: shown, output, durationMs: deps.now() - began };
      } catch (error) {
        envelope = { action: name, status: "error", input: shown, error: reasonOf(error), durationMs: deps.now() - began };
      }
      await trace(envelope, asked, began);
      return envelope;
    },
  };
}

function inWords(error: SchemaError | undefined): string {
  if (error === undefined) return "it has the wrong shape";
  const key = (error.params as { additionalProperty?: string }).additionalProperty;
  return `${error.instancePath === "" ? "input" : error.instancePath.slice(1).replaceAll("/", ".")} ${error.message ?? "is wrong"}${key === undefined ? "" : ` ('${key}')`}`;
}

/** Actions answer in JSON over every entry: an output that is not JSON, or too much of it, is refused. */
function whyNotSent(output: unknown): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(output);
  } catch (error) {
    return `it cannot be written as JSON (${reasonOf(error).split("\n")[0]})`;
  }
  return (text?.length ?? 0) > OUTPUT_LIMIT ? `it is larger than ${OUTPUT_LIMIT} characters of JSON` : undefined;
}

/** A trace must be storable whatever a caller has given in. */
function cut(value: unknown): unknown {
  let text: string;
  try {
    text = JSON.stringify(value) ?? "";
  } catch (error) {
    return `(no JSON: ${reasonOf(error).split("\n")[0]})`;
  }
  return text.length <= TRACED ? value : `${text.slice(0, TRACED)}… (${text.length} characters in all)`;
}
