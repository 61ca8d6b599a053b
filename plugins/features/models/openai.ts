import type { ModelEvent, ModelMessage, ModelReply, ModelToolCall, Usage } from "@svc/sdk";
import { countOf, MAX_OUTPUT_TOKENS, type Reader, readInput, textIn, toolText, type WireFormat } from "./model-api.ts";
import { fieldsOf, vendorError } from "./model-failure.ts";

type Fields = Readonly<Record<string, unknown>>;

/** OpenAI's own newer models refuse the name of the limit that every other server knows. */
const OPENAI_HOST = "api.openai.com";
/** Field names of a model's thoughts in servers. */
const THOUGHTS = ["reasoning_content", "reasoning"] as const;

/** The chat completions of OpenAI, which most other servers speak too. */
export const OPENAI: WireFormat = {
  path: "/chat/completions",
  headers: ({ key }) => (key === undefined ? {} : { authorization: `Bearer ${key}` }),
  body: ({ model, url }, { system = "", messages, tools = [], maxOutputTokens = MAX_OUTPUT_TOKENS }) => ({
    model,
    stream: true,
    stream_options: { include_usage: true },
    [new URL(url).hostname === OPENAI_HOST ? "max_completion_tokens" : "max_tokens"]: maxOutputTokens,
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ name, description, input }) => ({ type: "function", function: { name, description, parameters: input } })) }),
    messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...messages.flatMap(write)],
  }),
  reader: ({ thinking, model }) => new OpenaiReader(thinking, model),
};

function write(message: ModelMessage): object[] {
  switch (message.role) {
    case "tool":
      return message.results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: toolText(text) }));
    case "user": {
      if (message.pictures === undefined) return [{ role: "user", content: message.text }];
      const pictures = message.pictures.map(({ data, type }) => ({
        type: "image_url",
        image_url: { url: `data:${type};base64,${Buffer.from(data).toString("base64")}` },
      }));
      return [{ role: "user", content: [...pictures, ...(message.text === "" ? [] : [{ type: "text", text: message.text }])] }];
    }
    default: {
      const { thoughts } = fieldsOf(message.own);
      const calls = (message.calls ?? []).map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } }));
      return [
        {
          role: "assistant",
          content: message.text === "" && calls.length > 0 ? null : message.text,
          ...(calls.length === 0 ? {} : { tool_calls: calls, ...fieldsOf(thoughts) }),
        },
      ];
    }
  }
}

interface Call {
  id: string;
  name: string;
  json: string;
}

class OpenaiReader implements Reader {
  over = false;
  stopped: string | undefined;
  usage: Usage | undefined;
  model: string | undefined;
  readonly #thinking: boolean;
  readonly #calls = new Map<number, Call>();
  #text = "";
  /** By the name that the server gave them: a server that thinks wants its thoughts back while tools are called. */
  readonly #thoughts: Record<string, string> = {};

  constructor(thinking: boolean, model: string) {
    this.#thinking = thinking;
    this.model = model;
  }

  take(event: Fields, out: ModelEvent[]): void {
    if (event["error"] !== undefined && event["error"] !== null) throw vendorError(event["error"]);
    if (event["done"] === true) {
      this.over = true;
      return;
    }
    this.model = textIn(event["model"]) || this.model;
    const choices = event["choices"];
    const choice = fieldsOf(Array.isArray(choices) ? choices[0] : undefined);
    this.#grow(fieldsOf(choice["delta"]), out);
    this.stopped = textIn(choice["finish_reason"]) || this.stopped;
    if (typeof event["usage"] === "object" && event["usage"] !== null) this.#count(fieldsOf(event["usage"]));
  }

  #grow(delta: Fields, out: ModelEvent[]): void {
    for (const name of THOUGHTS) {
      const text = textIn(delta[name]);
      if (text === "") continue;
      this.#thoughts[name] = (this.#thoughts[name] ?? "") + text;
      if (this.#thinking) out.push({ type: "thinking", text });
      break;
    }
    const text = textIn(delta["content"]) || textIn(delta["refusal"]);
    if (text !== "") {
      this.#text += text;
      out.push({ type: "text", text });
    }
    const calls = delta["tool_calls"];
    if (Array.isArray(calls)) for (const part of calls) this.#call(fieldsOf(part));
  }

  /** Pieces belong together by `index`; a server that gives none begins a new call with each new id. */
  #call({ index, id, function: called }: Fields): void {
    const { name, arguments: json } = fieldsOf(called);
    const begins = typeof id === "string" && id !== "" && id !== this.#calls.get(this.#calls.size - 1)?.id;
    const at = typeof index === "number" ? index : begins || this.#calls.size === 0 ? this.#calls.size : this.#calls.size - 1;
    const call = this.#calls.get(at) ?? { id: "", name: "", json: "" };
    this.#calls.set(at, call);
    call.id ||= textIn(id);
    call.name ||= textIn(name);
    call.json += textIn(json);
  }

  #count({ prompt_tokens: prompt, completion_tokens: output, prompt_tokens_details: details, prompt_cache_hit_tokens: hit, cost }: Fields): void {
    const cacheRead = countOf(fieldsOf(details)["cached_tokens"] ?? hit);
    this.usage = {
      input: Math.max(0, countOf(prompt) - cacheRead),
      output: countOf(output),
      cacheRead,
      cacheCreate: 0,
      ...(typeof cost === "number" ? { cost } : {}),
    };
  }

  reply(): ModelReply {
    const calls = [...this.#calls].map(([at, { id, name, json }]): ModelToolCall => ({ id: id || `call_${at}`, name, ...readInput(json) }));
    return {
      role: "assistant",
      text: this.#text,
      ...(calls.length === 0 ? {} : { calls }),
      ...(Object.keys(this.#thoughts).length === 0 ? {} : { own: { thoughts: this.#thoughts } }),
    };
  }
}
