import type { TierFailure } from "../failure.ts";
import { tierFailure } from "../failure.ts";
import type { Usage } from "../messages.ts";
import { type ModelCall, type ModelEvent, type ModelMessage, type Models, turnMessages } from "../models.ts";
import type { Picture } from "../picture.ts";
import type { TierEvent, TurnContext } from "../tier.ts";
import { runCalls, type ToolAnswer } from "./loop-calls.ts";
import type { Tool } from "./loop-tool.ts";

/** Fractions of the history to send: less each time that the model finds the conversation too long. */
const SHARES = [1, 0.25, 0];

/** A model call, with the tools that the model may use before its answer. */
export interface LoopedCall extends Omit<ModelCall, "messages" | "tools" | "signal"> {
  readonly signal: AbortSignal;
  readonly context: TurnContext;
  readonly given: { readonly pictures: readonly Picture[]; readonly note: string };
  /** Tools by their names for the model: `byModelName`. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Model calls at most. */
  readonly maxSteps: number;
  /** Advice for the operator when these are not enough. */
  readonly advice: string;
}

/**
 * One turn of a model with tools, to its end:
 *
 *   model call -> no tools wanted -> usage, done
 *      ^   |'-> fails: usage so far, error
 *      |   v
 *      '- the calls, side by side: each a step, each failure an answer to the model
 */
export async function* runToolLoop(
  models: Pick<Models, "stream">,
  { context, given, tools, maxSteps, advice, ...asked }: LoopedCall,
): AsyncGenerator<TierEvent> {
  const call = { ...asked, ...(tools.size === 0 ? {} : { tools: [...tools].map(([name, { description, input }]) => ({ name, description, input })) }) };
  const bill = createBill();
  const talk: Talk = {
    past: (share) => turnMessages(context, given, share),
    shares: context.history.length === 0 ? [0] : [...SHARES],
    since: [],
    begun: false,
  };
  for (let round = 1; round <= maxSteps; round += 1) {
    const said = yield* ask(models, call, talk, bill);
    if (said === undefined) break;
    if (said.type === "error") {
      yield* bill.event();
      yield said;
      return;
    }
    const { reply, stopped } = said;
    const { calls = [] } = reply;
    if (calls.length === 0) {
      yield* bill.event();
      yield talk.begun ? { type: "done" } : tierFailure("no-answer", `The model gave no answer; it stopped with '${stopped}'.`);
      return;
    }
    if (round === maxSteps) {
      yield* bill.event();
      yield tierFailure("step-limit", `The work was not done after ${maxSteps} model calls; ${advice}`);
      return;
    }
    const answers = yield* runCalls(calls, tools, round, asked.signal);
    if (answers === undefined) break;
    talk.since.push(reply, resultsOf(answers));
  }
  // Aborted: report the usage so far all the same.
  yield* bill.event();
}

/** The conversation of one turn. */
interface Talk {
  past(share: number): ModelMessage[];
  /** Shares of the history that may still be tried. */
  shares: number[];
  readonly since: ModelMessage[];
  /** Text was sent: separate the next step's text from it. */
  begun: boolean;
}

/** One call of the model, with less history where it finds the conversation too long. Undefined when the signal aborted. */
async function* ask(
  models: Pick<Models, "stream">,
  call: Omit<ModelCall, "messages">,
  talk: Talk,
  bill: Bill,
): AsyncGenerator<TierEvent, Extract<ModelEvent, { type: "end" | "error" }> | undefined> {
  for (;;) {
    const last = talk.since.at(-1);
    // The next step sends all of it again.
    const since = last === undefined ? [] : [...talk.since.slice(0, -1), { ...last, cache: true }];
    let apart = talk.begun;
    let failure: TierFailure | undefined;
    for await (const event of models.stream({ ...call, messages: [...talk.past(talk.shares[0] ?? 0), ...since] })) {
      if (event.type === "end") return event;
      if (event.type === "error") failure = event;
      else if (event.type === "usage") bill.add(event);
      else {
        if (event.type === "text") {
          if (apart) yield { type: "text", text: "\n\n" };
          apart = false;
          talk.begun = true;
        }
        yield event;
      }
    }
    if (failure?.kind !== "context" || talk.shares.length < 2) return failure;
    const [left] = talk.shares.splice(0, 1);
    yield { type: "step", step: { id: `history ${left}`, name: "history", phase: "end", output: "too long for the model; shortened" } };
  }
}

const resultsOf = (answers: readonly ToolAnswer[]): ModelMessage => ({
  role: "tool",
  results: answers.map(({ call: { id, name }, text, failed }) => ({ id, name, text, ...(failed ? { failed } : {}) })),
});

/** Accumulated usage of the calls of a turn. */
interface Bill {
  add(cost: Extract<ModelEvent, { type: "usage" }>): void;
  /** Empty until a vendor has sent a count. */
  event(): TierEvent[];
}

function createBill(): Bill {
  let spent: Usage | undefined;
  let model: string | undefined;
  return {
    add(cost) {
      model = cost.model;
      spent = sum(spent, cost.usage);
    },
    event: () => (spent === undefined ? [] : [{ type: "usage", usage: spent, ...(model === undefined ? {} : { model }) }]),
  };
}

function sum(before: Usage | undefined, more: Usage): Usage {
  if (before === undefined) return more;
  const both = (left = 0, right = 0) => left + right;
  const cost = before.cost === undefined && more.cost === undefined ? {} : { cost: both(before.cost, more.cost) };
  return {
    input: before.input + more.input,
    output: before.output + more.output,
    cacheRead: both(before.cacheRead, more.cacheRead),
    cacheCreate: both(before.cacheCreate, more.cacheCreate),
    ...cost,
  };
}
