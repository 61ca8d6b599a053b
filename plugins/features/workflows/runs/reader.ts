import type { Input, Node, RunError, RunState, StepState, Wait } from "../engine/types.ts";
import { evaluate, evaluateCondition } from "../expressions/evaluate.ts";
import { momentOf, spanOf } from "./moments.ts";
import type { Shelf } from "./shelf.ts";
import { namesFor } from "./whole-names.ts";

/** Inputs of a step's expressions: its node, the visible state, and the time of its claim. */
export interface Reading {
  readonly node: Node;
  readonly step: StepState;
  readonly state: RunState;
  readonly shelf: Shelf;
  readonly at: number;
}

type Given<K extends Input["kind"]> = Omit<Input<K>, "kind" | "at" | "step">;

/** Nodes whose templates are what an effect or a person is given: read before the claim, and kept in the journal. */
const GIVEN: Readonly<Partial<Record<Node["kind"], readonly string[]>>> = {
  agent: ["agent", "message", "outputSchema", "contextStrategy", "freshSession", "timeoutMinutes"],
  action: ["action", "input"],
  subProcess: ["workflow", "input"],
  userTask: ["title", "detail", "assignee", "form", "due", "remindEvery"],
  approval: ["title", "detail", "assignee", "due"],
};
/** Read as they are. */
const LITERAL = new Set(["action", "workflow", "outputSchema", "freshSession", "timeoutMinutes"]);

/** Whether what the step is given stands in the journal at its claim. */
export const isGiven = (kind: Node["kind"]): boolean => kind in GIVEN;

/** Evaluates the input of an effect or a task. Throws errors with a code of an expression. */
export async function readGiven(reading: Reading): Promise<Record<string, unknown>> {
  const { node, at } = reading;
  const names = await namesFor(reading);
  const given: Record<string, unknown> = {};
  for (const field of GIVEN[node.kind] ?? []) {
    const template = (node as unknown as Record<string, unknown>)[field];
    if (template === undefined) continue;
    given[field] = LITERAL.has(field) ? template : await evaluate(template, names, { at, secrets: node.kind === "action" && field === "input" });
  }
  if (node.kind === "action") given["input"] ??= {};
  if (node.kind === "subProcess" && node.input === undefined) given["input"] = names["in"];
  if (given["due"] !== undefined) given["due"] = at + spanOf(given["due"]);
  return given;
}

/** The result of a node without an effect. */
export async function readResult(reading: Reading): Promise<Given<"result">> {
  const { node, at } = reading;
  const read = async (template: unknown) => evaluate(template, await namesFor(reading), { at });
  switch (node.kind) {
    case "set":
      return { output: await read(node.value) };
    case "branch":
      for (const { port, when } of node.cases) if (await evaluateCondition(when, await namesFor(reading), { at })) return { port };
      return { port: "else" };
    case "multiChoice": {
      const ports: string[] = [];
      for (const { port, when } of node.cases) if (await evaluateCondition(when, await namesFor(reading), { at })) ports.push(port);
      return { ports: [...new Set(ports)] };
    }
    case "end":
      return { output: node.output === undefined ? await reading.shelf.whole(reading.step.in) : await read(node.output) };
    case "fail": {
      const { message, details } = node;
      const output = { ...(message === undefined ? {} : { message: await read(message) }), ...(details === undefined ? {} : { details: await read(details) }) };
      return { output };
    }
    default:
      return {};
  }
}

/** A signal that a step sends. */
export interface Emitted {
  readonly name: string;
  readonly payload: unknown;
  readonly to: string;
  readonly stored: boolean;
}

/** Evaluates the signal that `emitSignal` sends, and its receivers. */
export async function readEmitted(reading: Reading): Promise<Emitted> {
  const { node, at } = reading;
  if (node.kind !== "emitSignal") throw new Error(`${node.id} sends no signal`);
  const names = await namesFor(reading);
  const read = (template: unknown) => evaluate(template, names, { at });
  return {
    name: String(await read(node.signal)),
    payload: node.payload === undefined ? names["in"] : await read(node.payload),
    to: String(node.to === undefined ? "self" : await read(node.to)),
    stored: node.stored ?? true,
  };
}

/** For what a timer or `waitSignal` waits. */
export async function readWait(reading: Reading): Promise<Given<"park">> {
  const { node, at, state, step } = reading;
  const names = await namesFor(reading);
  const read = (template: unknown) => evaluate(template, names, { at });
  if (node.kind === "timer") {
    const until = node.for === undefined ? momentOf(await read(node.until)) : at + spanOf(await read(node.for));
    // A replay does not wait as long as the original.
    return { wait: { kind: "timer", until: state.entry.kind === "replay" ? Math.min(until, at) : until, for: step.id } };
  }
  if (node.kind !== "waitSignal") throw new Error(`${node.id} does not wait`);
  const name = String(await read(node.signal));
  const wait: Omit<Wait, "since"> = { kind: "signal", for: name, ...(step.timeoutAt === undefined ? {} : { until: step.timeoutAt }) };
  if (node.match === undefined) return { wait };
  const matches: number[] = [];
  for (const stored of state.signals) if (stored.name === name && (await accepts(reading, stored.payload))) matches.push(stored.id);
  return { wait, matches };
}

/** Whether a step that waits for a signal takes one with this payload: what its `match` cannot be read with, it does not. */
export async function accepts(reading: Reading, payload: unknown): Promise<boolean> {
  const { node, at, shelf } = reading;
  if (node.kind !== "waitSignal" || node.match === undefined) return true;
  try {
    return await evaluateCondition(node.match, await namesFor(reading, { payload: await shelf.whole(payload) }), { at });
  } catch {
    return false;
  }
}

/** The list of a `forEach`. */
export async function readItems(reading: Reading): Promise<Given<"items">> {
  const { node, at } = reading;
  if (node.kind !== "forEach") throw new Error(`${node.id} has no items`);
  const names = await namesFor(reading);
  const list = typeof node.items === "string" ? await evaluate(node.items, names, { at }) : await evaluate([...node.items], names, { at });
  if (!Array.isArray(list))
    throw Object.assign(new Error(`${JSON.stringify(node.items)} gives no list; forEach needs one, as in {{ a.b[] }}.`), { code: "EXPR_TYPE" });
  if (node.need === undefined) return { items: list };
  const need = Number(await evaluate(node.need, names, { at }));
  if (!Number.isInteger(need) || need < 0) throw Object.assign(new Error(`${String(node.need)} is no number of items.`), { code: "EXPR_TYPE" });
  return { items: list, need };
}

/** Converts an error of an expression to the fault of a step. */
export function faultOf(error: unknown): RunError {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return { code: typeof code === "string" ? code : "ERROR", message: typeof message === "string" ? message : "it could not be read" };
}
