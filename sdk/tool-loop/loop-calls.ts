import { reasonOf } from "../errors.ts";
import type { ModelToolCall } from "../models.ts";
import type { TierEvent } from "../tier.ts";
import { atMost, summaryOf, type Tool } from "./loop-tool.ts";

/** Result of the call, as text for the model. */
export interface ToolAnswer {
  readonly call: ModelToolCall;
  readonly text: string;
  readonly failed: boolean;
}

/**
 * Runs the calls of one answer concurrently and yields each as a step. A failure of one is an answer to the model, not the end of the turn. The
 * answers come in the order of the calls; undefined when the signal aborted. `round` makes the ids of steps unique if a model repeats ids.
 */
export async function* runCalls(
  calls: readonly ModelToolCall[],
  tools: ReadonlyMap<string, Tool>,
  round: number,
  signal: AbortSignal,
): AsyncGenerator<TierEvent, readonly ToolAnswer[] | undefined> {
  const idOf = (at: number) => `${round}.${at}`;
  const answers: ToolAnswer[] = [];
  const running = new Map<number, Promise<Ended>>();
  let stopped = (): void => {};
  const aborted = new Promise<undefined>((resolve) => {
    stopped = () => resolve(undefined);
  });
  signal.addEventListener("abort", stopped, { once: true });
  for (const [at, call] of calls.entries()) {
    const name = tools.get(call.name)?.name ?? call.name;
    yield { type: "step", step: { id: idOf(at), name, phase: "start", input: isObject(call.input) ? summaryOf(call.input) : "" } };
    running.set(at, perform(at, idOf(at), call, tools.get(call.name), signal));
  }
  while (running.size > 0) {
    const ended = signal.aborted ? undefined : await Promise.race([aborted, ...running.values()]);
    if (ended === undefined) return undefined;
    const { at, answer, durationMs } = ended;
    running.delete(at);
    answers[at] = answer;
    const outcome = answer.failed ? { error: atMost(answer.text, 300) } : { output: atMost(answer.text, 300) };
    yield { type: "step", step: { id: idOf(at), name: tools.get(answer.call.name)?.name ?? answer.call.name, phase: "end", ...outcome, durationMs } };
  }
  signal.removeEventListener("abort", stopped);
  return answers;
}

interface Ended {
  readonly at: number;
  readonly answer: ToolAnswer;
  readonly durationMs: number;
}

/** The one place that every call passes: a tool that was not offered to this agent is not run. */
async function perform(at: number, step: string, call: ModelToolCall, tool: Tool | undefined, signal: AbortSignal): Promise<Ended> {
  const began = Date.now();
  const ended = (text: string, failed: boolean): Ended => ({ at, answer: { call, text: atMost(text), failed }, durationMs: Date.now() - began });
  if (tool === undefined) return ended(`There is no tool '${call.name}'.`, true);
  if (!isObject(call.input)) return ended("The input must be a JSON object.", true);
  try {
    return ended(await tool.run(call.input, signal, step), false);
  } catch (error) {
    return ended(reasonOf(error), true);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
