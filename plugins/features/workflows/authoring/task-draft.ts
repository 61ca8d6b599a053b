import type { Trace, TraceStep } from "@svc/sdk";
import { isRecord } from "../definition/json.ts";

/** Steps of a draft that call an action; what was called beyond is counted in its description. */
const MOST_CALLS = 100;
/** Characters of JSON of all their inputs. */
const MOST_INPUT = 100_000;
/** A longer message is no default: a start of the workflow gives one. */
const MOST_MESSAGE = 20_000;
const MOST_TOOLS = 50;
const TOOL_INPUT = 500;
const NAME = 80;
const MOST_DEPTH = 20;
/** Keys that a definition may not hold, and those that stand for a secret: recorded data never becomes a reference to one. */
const REFUSED_KEYS: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor", "$secret", "$text"]);

interface Call {
  readonly id: string;
  readonly action: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether it answered something. */
  readonly answers: boolean;
}

/** Why calls of the task are no steps of its draft, counted. */
interface LeftOut {
  failed: number;
  unfit: number;
  over: number;
}

/**
 * The definition of a workflow that does what a task has done: it takes the task's message, calls the actions that the task has called, with their
 * recorded inputs and in their order, and has its agent answer. Whatever was recorded stands in it as fixed text: `{{` of a recorded word is
 * escaped and is no expression. `source` is the task that `trace` was answered with, where that is another one. Undefined where nothing can be made
 * of it: no agent answered, and no action was called.
 */
export function definitionOfTask(trace: Trace, source: Trace = trace): Readonly<Record<string, unknown>> | undefined {
  const left: LeftOut = { failed: 0, unfit: 0, over: 0 };
  const calls = callsOf(source.steps, left);
  const tools = source.steps.filter(({ kind, envelope }) => kind === "tool" && envelope === undefined);
  const { message = "", agent, node } = trace;
  const asks = agent !== "" && message.trim() !== "";
  if (!asks && calls.length === 0) return undefined;
  const nodes: object[] = [
    asks ? { id: "start", kind: "trigger", inputSchema: { message: fieldOf(message) } } : { id: "start", kind: "trigger" },
    ...calls.map(({ id, action, input }) => ({ id, kind: "action", action, input: fixedInput(input) })),
    ...(asks ? [{ id: "answer", kind: "agent", agent: node === undefined ? agent : `${agent}@${node}`, message: askOf(calls, tools) }] : []),
    { id: "done", kind: "end", output: asks ? "{{ in.reply }}" : "{{ in }}" },
  ];
  const ids = nodes.map((one) => (one as { id: string }).id);
  return {
    name: nameOf(message, trace),
    description: describe(trace, calls.length, tools.length, left),
    ...(agent === "" || node !== undefined ? {} : { ownerAgent: agent }),
    generatedFrom: "task-trace",
    confidence: confidenceOf(calls.length, tools.length, left),
    sourceTaskIds: [...new Set([source.id, trace.id])],
    nodes,
    edges: ids.slice(1).map((to, at) => ({ from: ids[at], to })),
  };
}

/** An id for a draft with that name: its words in lower-case letters and digits. */
export const idOfName = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 40)
    .replace(/^-+|-+$/g, "") || "task";

/** A recorded text as a template that gives just this text. */
export const fixedText = (text: string): string => text.replaceAll("{{", "\\{{");

function callsOf(steps: readonly TraceStep[], left: LeftOut): readonly Call[] {
  const calls: Call[] = [];
  const ids = new Set<string>();
  let characters = 0;
  for (const { envelope } of steps) {
    if (envelope === undefined) continue;
    const { action, status, input, output } = envelope;
    if (status !== "ok") left.failed += 1;
    // An input that was too long for the trace is a text there, with its end cut off.
    else if (action === "" || !isRecord(input) || !isPlain(input)) left.unfit += 1;
    else {
      characters += JSON.stringify(input).length;
      if (calls.length >= MOST_CALLS || characters > MOST_INPUT) left.over += 1;
      else calls.push({ id: freeId(action, ids), action, input, answers: output !== undefined });
    }
  }
  return calls;
}

/** Whether a value can stand in a definition as it is. */
function isPlain(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "number" || Number.isFinite(value);
  if (depth >= MOST_DEPTH) return false;
  return Object.entries(value).every(([key, entry]) => (Array.isArray(value) || !REFUSED_KEYS.has(key)) && isPlain(entry, depth + 1));
}

function fixedInput(value: unknown): unknown {
  if (typeof value === "string") return fixedText(value);
  if (Array.isArray(value)) return value.map(fixedInput);
  return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fixedInput(entry)])) : value;
}

/** Ids are names in expressions, too: letters, digits and `_`. */
function freeId(action: string, taken: Set<string>): string {
  const first = `call_${action.replace(/[^A-Za-z0-9]+/g, "_").slice(0, 48)}`;
  let id = first;
  for (let count = 2; taken.has(id); count += 1) id = `${first}_${count}`;
  taken.add(id);
  return id;
}

const fieldOf = (message: string) => ({
  type: "string",
  ...(message.length > MOST_MESSAGE ? { required: true } : { default: message }),
  description: "what the agent is asked",
});

/** Returns the prompt for the agent: the message, earlier calls, and the tools used when this was recorded. */
function askOf(calls: readonly Call[], tools: readonly TraceStep[]): string {
  const results = calls.filter(({ answers }) => answers).map(({ id, action }) => `- ${fixedText(oneLine(action))}: {{ steps.${id}.output }}`);
  const used = tools.slice(0, MOST_TOOLS).map(({ name, input = "" }) => `- ${fixedText(oneLine(`${name} ${shortened(input)}`))}`);
  return [
    "{{ input.message }}",
    ...(results.length === 0 ? [] : ["", "This was looked up for it just now:", ...results]),
    ...(used.length === 0 ? [] : ["", "When this was done before, these tools were used, in this order:", ...used]),
  ].join("\n");
}

function describe({ id, agent, startedAt }: Trace, calls: number, tools: number, { failed, unfit, over }: LeftOut): string {
  const parts = [
    `Made from the task ${id}${agent === "" ? "" : ` of ${agent}`} of ${new Date(startedAt).toISOString().slice(0, 10)}.`,
    ...(calls === 0 ? [] : [`Actions that it called, with the inputs of then: ${calls}.`]),
    ...(tools === 0 ? [] : [`Tools of its engine, which its message names: ${Math.min(tools, MOST_TOOLS)} of ${tools}.`]),
    ...(failed === 0 ? [] : [`Left out, because they failed: ${failed}.`]),
    ...(unfit === 0 ? [] : [`Left out, because their inputs were cut off, or hold secrets or keys that no workflow takes: ${unfit}.`]),
    ...(over === 0 ? [] : [`Left out, because a draft takes ${MOST_CALLS} calls and ${MOST_INPUT} characters of inputs: ${over}.`]),
  ];
  return parts.join(" ");
}

/** The share of what was done that is a step of the draft: the agent's turn and its calls. */
function confidenceOf(calls: number, tools: number, { failed, unfit, over }: LeftOut): number {
  return Math.round((100 * (1 + calls)) / (1 + calls + tools + failed + unfit + over)) / 100;
}

const nameOf = (message: string, { id }: Trace): string => [...oneLine(message)].slice(0, NAME).join("").trim() || `Task ${id}`;

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

const shortened = (text: string): string => (text.length <= TOOL_INPUT ? text : `${text.slice(0, TOOL_INPUT)}...`);
