import { svcError } from "@svc/sdk";
import type { Refuse } from "./fields.ts";
import { type HttpWork, parseHttp } from "./http-work.ts";
import { INPUT_NAME, type Input, typed } from "./inputs.ts";
import { parseShell, type ShellWork } from "./shell-work.ts";

/** An action as written in `.svc/actions/<id>.json` (000:L98-112), checked and its templates taken apart. */
export interface Definition {
  readonly id: string;
  readonly title: string;
  readonly inputs: readonly Input[];
  /** Milliseconds: 30,000 unless given, at most 600,000. */
  readonly timeoutMs: number;
  readonly work: ShellWork | HttpWork;
}

const COMMON = ["id", "title", "kind", "inputs", "timeoutMs"];
const SHELL = ["command", "cwd", "env"];
const HTTP = ["url", "method", "headers", "body"];
/** The longest time limit of an action, in milliseconds. */
export const MAX_TIMEOUT_MS = 600_000;

/** Whether `id` may name an action: it becomes a file name and a path of the HTTP interface. `builtin` is taken there. */
export const isActionId = (id: string): boolean => /^[a-z0-9_-]+$/.test(id) && id !== "builtin" && id.length <= 64;

/** Checks the content of `<id>.json`. Throws `SVC_OPERATOR_ACTION_INVALID`, whose message names the file and the field. */
export function parseDefinition(id: string, content: unknown): Definition {
  const refuse: Refuse = (field, reason) => {
    throw svcError("SVC_OPERATOR_ACTION_INVALID", `The action ${id}.json: ${field} ${reason}.`, { status: 400, field });
  };
  if (!isActionId(id)) refuse("id", "must be of a-z, 0-9, '_' and '-', at most 64, and not 'builtin'");
  if (!isRecord(content)) refuse("content", "must be an object");
  const { kind, title = id, timeoutMs = 30_000 } = content;
  if (kind !== "shell" && kind !== "http") refuse("kind", "must be 'shell' or 'http'");
  const known = [...COMMON, ...(kind === "shell" ? SHELL : HTTP)];
  const unknown = Object.keys(content).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(unknown, `is not a key of the kind ${kind}`);
  if (content["id"] !== undefined && content["id"] !== id) refuse("id", "differs from the file's name");
  if (typeof title !== "string") refuse("title", "must be text");
  if (typeof timeoutMs !== "number" || !Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
    refuse("timeoutMs", `must be a whole number from 1 to ${MAX_TIMEOUT_MS}`);
  }
  const inputs = parseInputs(content["inputs"] ?? [], refuse);
  const work = kind === "shell" ? parseShell(content, inputs, refuse) : parseHttp(content, inputs, refuse);
  return { id, title, inputs, timeoutMs, work };
}

function parseInputs(given: unknown, refuse: Refuse): Input[] {
  if (!Array.isArray(given)) refuse("inputs", "must be a list");
  const inputs = given.map((one: unknown, index): Input => {
    const at = `inputs[${index}]`;
    if (!isRecord(one)) refuse(at, "must be an object");
    const unknown = Object.keys(one).find((key) => !["name", "type", "required", "defaultValue"].includes(key));
    if (unknown !== undefined) refuse(`${at}.${unknown}`, "is not a known key");
    const { name, type = "string", required = false, defaultValue } = one;
    if (typeof name !== "string" || !INPUT_NAME.test(name)) refuse(`${at}.name`, "must be a letter or '_', then letters, digits, '_' and '-'");
    if (type !== "string" && type !== "number" && type !== "boolean") refuse(`${at}.type`, "must be string, number or boolean");
    if (typeof required !== "boolean") refuse(`${at}.required`, "must be true or false");
    if (defaultValue === undefined) return { name, type, required };
    if (typeof defaultValue !== type) refuse(`${at}.defaultValue`, `must be a ${type}`);
    return { name, type, required, defaultValue: typed({ name, type }, defaultValue) };
  });
  const twice = inputs.find(({ name }, index) => inputs.findIndex((input) => input.name === name) !== index);
  if (twice) refuse("inputs", `names '${twice.name}' twice`);
  return inputs;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
