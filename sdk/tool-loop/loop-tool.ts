import type { ObjectSchema } from "../config.ts";

/** Something that the model may call. */
export interface Tool {
  /** Name in steps and in `toolUseRequired`: `http.fetch`, `files__read`. */
  readonly name: string;
  readonly description: string;
  readonly input: ObjectSchema;
  /** Rejects with the reason when it failed. `step` is the id under which the call is shown. */
  run(input: Record<string, unknown>, signal: AbortSignal, step: string): Promise<string>;
}

const LONGEST_NAME = 64;
/** Limit of a tool's output to the model, in characters. */
const LONGEST_OUTPUT = 30_000;

/** The tools by the names that the APIs take: letters, digits, `_` and `-`, at most 64, each once. */
export function byModelName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const named = new Map<string, Tool>();
  for (const tool of tools) {
    const plain = tool.name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
    let name = plain.slice(0, LONGEST_NAME);
    for (let copy = 2; named.has(name); copy += 1) name = `${plain.slice(0, LONGEST_NAME - 3)}_${copy}`;
    named.set(name, tool);
  }
  return named;
}

/** Truncates a long text and appends its length. */
export function atMost(text: string, limit: number = LONGEST_OUTPUT): string {
  return text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}… (cut; ${text.length} characters in all)`;
}

/** Summarises an input for a trace: its keys, and the start of each value. */
export function summaryOf(input: Record<string, unknown>): string {
  const parts = Object.entries(input).map(([key, value]) => `${key}: ${atMost(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), 60)}`);
  return atMost(parts.join(", "), 200);
}
