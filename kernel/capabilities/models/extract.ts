import type { FetchAnswer, GuardedFetch, Models, Schema } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { createFetch } from "../fetch/fetch.ts";
import { compileSchema } from "./shape.ts";

export interface ExtractOptions {
  /** `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, their `_BASE_URL`, and `SVC_EXTRACT_MODEL`; read at each call. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch?: GuardedFetch;
}

type Request = Parameters<Models["extract"]>[0];

/** How one kind of API is asked to call a tool, and where in its answer the call is. */
interface Api {
  readonly keyVariable: string;
  readonly baseVariable: string;
  readonly base: string;
  readonly path: string;
  readonly model: string;
  headers(key: string): Record<string, string>;
  body(model: string, request: Request, parameters: Schema): unknown;
  /** What the tool was called with; undefined when it was not called. Throws a `SyntaxError` for what is no JSON. */
  call(answer: unknown): unknown;
  /** Why an answer may be incomplete: it met the limit of tokens. */
  cut(answer: unknown): boolean;
}

const TOOL = "answer";
const PURPOSE = "Give the answer in this form.";
const TIMEOUT_MS = 120_000;
const MAX_BYTES = 4_194_304;
const MAX_TOKENS = 4096;

const ANTHROPIC: Api = {
  keyVariable: "ANTHROPIC_API_KEY",
  baseVariable: "ANTHROPIC_BASE_URL",
  base: "https://api.anthropic.com",
  path: "/v1/messages",
  model: "claude-haiku-4-5",
  headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
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

const OPENAI: Api = {
  keyVariable: "OPENAI_API_KEY",
  baseVariable: "OPENAI_BASE_URL",
  base: "https://api.openai.com/v1",
  path: "/chat/completions",
  model: "gpt-4.1-mini",
  headers: (key) => ({ authorization: `Bearer ${key}` }),
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

/**
 * `extract` of the capability `models`: one call with a forced tool, so that the answer is data and not prose. With both keys set,
 * Anthropic is asked. The base address is the operator's word and may lie on this machine; it is never redirected from.
 */
export function createExtract({ env, fetch = createFetch() }: ExtractOptions): Models["extract"] {
  return async (request) => {
    const api = [ANTHROPIC, OPENAI].find(({ keyVariable }) => env[keyVariable]);
    const key = api && env[api.keyVariable];
    if (!api || !key) throw fail("SVC_MODEL_NO_KEY");
    const model = env["SVC_EXTRACT_MODEL"] || api.model;
    const checkShape = compileSchema(request.schema);
    const bare = request.schema.type === "object";
    const body = api.body(model, request, bare ? request.schema : wrapped(request.schema));
    const answer = await ask(fetch, api, env[api.baseVariable] || api.base, key, model, body, request.signal);
    const shape = (reason: string) => fail("SVC_MODEL_SHAPE", { model, reason });
    const given = calledWith(api, answer, shape);
    const value = bare ? given : member(given, "value");
    const wrong = checkShape(value);
    if (wrong !== undefined) throw shape(api.cut(answer) ? `it was cut off at the limit of tokens; raise maxTokens (${wrong})` : wrong);
    return value;
  };
}

async function ask(fetch: GuardedFetch, api: Api, base: string, key: string, model: string, body: unknown, signal: AbortSignal | undefined): Promise<unknown> {
  const failed = (reason: string) => fail("SVC_MODEL_FAILED", { model, reason });
  if (!URL.canParse(base)) throw failed(`${api.baseVariable} is no address`);
  let answer: FetchAnswer;
  try {
    answer = await fetch(base.replace(/\/+$/, "") + api.path, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...api.headers(key) },
      body: JSON.stringify(body),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      maxRedirects: 0,
      trustedOrigins: [new URL(base).origin],
      ...(signal && { signal }),
    });
  } catch (error) {
    throw failed((error as Error).message.replace(/\.$/, ""));
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
