import { type FetchAnswer, type GuardedFetch, type Models, reasonOf, type Schema } from "@svc/sdk";
import { ANTHROPIC } from "./anthropic.ts";
import { modelError } from "./model-error.ts";
import { OPENAI } from "./openai.ts";
import type { ModelApi } from "./provider-address.ts";
import { compileSchema } from "./shape.ts";
import { SMALL_MODELS, type SmallModel } from "./vendors.ts";

/** Dependencies of an extraction. */
export interface ExtractOptions {
  /** Reads the variables of `SMALL_MODELS`, and `SVC_EXTRACT_MODEL`; asked at each call. */
  env(name: string): string | undefined;
  readonly fetch: GuardedFetch;
}

type Request = Parameters<Models["extract"]>[0];

/** Request of a tool call in one kind of API, and its position in the answer. */
interface Api {
  headers(key: string): Readonly<Record<string, string>>;
  body(model: string, request: Request, parameters: Schema): unknown;
  /** Returns the input of the tool call; undefined without a call. Throws a `SyntaxError` for a text that is not JSON. */
  call(answer: unknown): unknown;
  /** Why an answer may be incomplete: it met the limit of tokens. */
  cut(answer: unknown): boolean;
}

const TOOL = "answer";
const PURPOSE = "Give the answer in this form.";
const TIMEOUT_MS = 120_000;
const MAX_BYTES = 4_194_304;
const MAX_TOKENS = 4096;

const ANTHROPIC_TOOL: Api = {
  headers: (key) => ANTHROPIC.headers({ key }),
  body: (model, { prompt, system, maxTokens = MAX_TOKENS }, parameters) => ({
    model,
    max_tokens: maxTokens,
    ...(system !== undefined && { system }),
    messages: [{ role: "user", content: prompt }],
    tools: [{ name: TOOL, description: PURPOSE, input_schema: parameters }],
    tool_choice: { type: "tool", name: TOOL },
  }),
  call: (answer) => list(answer, "content").find((part) => member(part, "type") === "tool_use" && member(part, "name") === TOOL)?.["input"],
  cut: (answer) => member(answer, "stop_reason") === "max_tokens",
};

const OPENAI_TOOL: Api = {
  headers: (key) => OPENAI.headers({ key }),
  body: (model, { prompt, system, maxTokens }, parameters) => ({
    model,
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    messages: [...(system === undefined ? [] : [{ role: "system", content: system }]), { role: "user", content: prompt }],
    tools: [{ type: "function", function: { name: TOOL, description: PURPOSE, parameters } }],
    tool_choice: { type: "function", function: { name: TOOL } },
  }),
  call(answer) {
    const called = list(member(list(answer, "choices")[0], "message"), "tool_calls")[0]?.["function"];
    const written = member(called, "name") === TOOL ? member(called, "arguments") : undefined;
    return typeof written === "string" ? JSON.parse(written) : undefined;
  },
  cut: (answer) => member(list(answer, "choices")[0], "finish_reason") === "length",
};

const APIS: Readonly<Record<ModelApi, Api>> = { anthropic: ANTHROPIC_TOOL, openai: OPENAI_TOOL };

/**
 * `extract` of the capability `models`: one call with a forced tool, so that the answer is data and not prose. With several keys
 * set, the first of `SMALL_MODELS` is asked. The base address is the operator's word and may lie on this machine; it is never redirected from.
 */
export function createExtract({ env, fetch }: ExtractOptions): Models["extract"] {
  return async (request) => {
    const vendor = SMALL_MODELS.find(({ keyVariable }) => env(keyVariable));
    const key = vendor && env(vendor.keyVariable);
    if (!vendor || !key) throw modelError("SVC_MODEL_NO_KEY");
    const api = APIS[vendor.api];
    const model = env("SVC_EXTRACT_MODEL") || vendor.model;
    const checkShape = await compileSchema(request.schema);
    const bare = request.schema.type === "object";
    const body = api.body(model, request, bare ? request.schema : wrapped(request.schema));
    const headers = { "content-type": "application/json", accept: "application/json", ...api.headers(key) };
    const answer = await ask(fetch, vendor, env(vendor.baseVariable) || vendor.base, model, headers, body, request.signal);
    const shape = (reason: string) => modelError("SVC_MODEL_SHAPE", { model, reason });
    const given = calledWith(api, answer, shape);
    const value = bare ? given : member(given, "value");
    const wrong = checkShape(value);
    if (wrong !== undefined) throw shape(api.cut(answer) ? `it was cut off at the limit of tokens; raise maxTokens (${wrong})` : wrong);
    return value;
  };
}

async function ask(
  fetch: GuardedFetch,
  { baseVariable, path }: SmallModel,
  base: string,
  model: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const failed = (reason: string) => modelError("SVC_MODEL_FAILED", { model, reason });
  if (!URL.canParse(base)) throw failed(`${baseVariable} is no address`);
  let answer: FetchAnswer;
  try {
    answer = await fetch(base.replace(/\/+$/, "") + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      maxRedirects: 0,
      trustedOrigins: [new URL(base).origin],
      ...(signal && { signal }),
    });
  } catch (error) {
    throw failed(reasonOf(error).replace(/\.$/, ""));
  }
  const parsed = parse(answer);
  if (answer.status === 200 && parsed !== undefined) return parsed;
  throw failed(answer.status === 200 ? "its answer is no JSON" : `it answered ${answer.status}${kindOf(parsed)}`);
}

function parse(answer: FetchAnswer): unknown {
  try {
    return JSON.parse(answer.text());
  } catch {
    return undefined;
  }
}

/** The kind of a vendor's error, never its text: that may repeat a part of the key. */
function kindOf(answer: unknown): string {
  const error = member(answer, "error");
  const kind = [member(error, "type"), member(error, "code")].find((each) => typeof each === "string" && /^[a-z_]{1,60}$/.test(each));
  return kind === undefined ? "" : ` (${kind})`;
}

function calledWith(api: Api, answer: unknown, shape: (reason: string) => Error): unknown {
  let given: unknown;
  try {
    given = api.call(answer);
  } catch {
    throw shape(api.cut(answer) ? "it was cut off at the limit of tokens; raise maxTokens" : "it is no JSON");
  }
  if (given === undefined) throw shape("it did not call the tool");
  return given;
}

/** A tool takes an object; any other schema is asked for as its member `value`. */
function wrapped(schema: Schema): Schema {
  return { type: "object", properties: { value: schema }, required: ["value"], additionalProperties: false };
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function list(value: unknown, name: string): readonly Record<string, unknown>[] {
  const found = member(value, name);
  return Array.isArray(found) ? found.filter((each) => typeof each === "object" && each !== null) : [];
}
