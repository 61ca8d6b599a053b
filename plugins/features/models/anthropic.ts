import type { ModelEvent, ModelMessage, ModelReply, Usage } from "@svc/sdk";
import { countOf, MAX_OUTPUT_TOKENS, type Reader, readInput, textIn, toolText, type WireFormat } from "./model-api.ts";
import { fieldsOf, vendorError } from "./model-failure.ts";
import type { ModelAddress } from "./provider-address.ts";

type Fields = Readonly<Record<string, unknown>>;
type Block = Record<string, unknown>;

/** Thinking budget of older models before each answer, in tokens; newer ones decide themselves. */
const THINKING_TOKENS = 4096;
const CACHED = { cache_control: { type: "ephemeral" } };
/** Of four that the API takes, two are left to the system prompt and to what may come. */
const MOST_MARKS = 2;

/** Anthropic's messages. */
export const ANTHROPIC: WireFormat = {
  path: "/messages",
  headers: ({ key }) => ({ "anthropic-version": "2023-06-01", ...(key === undefined ? {} : { "x-api-key": key }) }),
  body(address, { system = "", messages, tools = [], maxOutputTokens = MAX_OUTPUT_TOKENS }) {
    const { budget, ...thinking } = thinkingOf(address);
    const marked = new Set(messages.flatMap(({ cache }, at) => (cache ? [at] : [])).slice(-MOST_MARKS));
    return {
      model: address.model,
      max_tokens: maxOutputTokens + budget,
      stream: true,
      ...(system === "" ? {} : { system: [{ type: "text", text: system, ...CACHED }] }),
      ...(tools.length === 0 ? {} : { tools: tools.map(({ name, description, input }) => ({ name, description, input_schema: input })) }),
      ...thinking,
      messages: messages.map((message, at) => write(message, marked.has(at))),
    };
  },
  reader: ({ thinking, model }) => new AnthropicReader(thinking, model),
};

/** Models of the generations before 4.6 are given a budget, later ones refuse it. */
function thinkingOf({ thinking, model }: ModelAddress): { readonly budget: number; readonly thinking?: object } {
  if (!thinking) return { budget: 0 };
  const adaptive = model.includes("claude") && !/-3-|-4-[015](?!\d)|-4-\d{8}/.test(model);
  if (adaptive) return { budget: 0, thinking: { type: "adaptive", display: "summarized" } };
  return { budget: THINKING_TOKENS, thinking: { type: "enabled", budget_tokens: THINKING_TOKENS } };
}

function write(message: ModelMessage, marked: boolean): object {
  const role = message.role === "assistant" ? "assistant" : "user";
  if (!marked && message.role !== "tool" && isPlain(message)) return { role, content: message.text };
  const content = blocksOf(message);
  const last = content.at(-1);
  // A thought cannot be marked.
  if (marked && last !== undefined && !textIn(last["type"]).includes("thinking")) content[content.length - 1] = { ...last, ...CACHED };
  return { role, content };
}

const isPlain = (message: Exclude<ModelMessage, { role: "tool" }>): boolean =>
  message.role === "user" ? message.pictures === undefined : message.own === undefined && message.calls === undefined;

function blocksOf(message: ModelMessage): Block[] {
  switch (message.role) {
    case "tool":
      return message.results.map(({ id, text, failed }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: toolText(text),
        ...(failed === true ? { is_error: true } : {}),
      }));
    case "user":
      return [
        ...(message.pictures ?? []).map(({ data, type }) => ({
          type: "image",
          source: { type: "base64", media_type: type, data: Buffer.from(data).toString("base64") },
        })),
        ...textBlock(message.text),
      ];
    default: {
      const { blocks } = fieldsOf(message.own);
      if (Array.isArray(blocks)) return [...blocks];
      return [...textBlock(message.text), ...(message.calls ?? []).map(({ id, name, input }) => ({ type: "tool_use", id, name, input: fieldsOf(input) }))];
    }
  }
}

const textBlock = (text: string): Block[] => (text === "" ? [] : [{ type: "text", text }]);

class AnthropicReader implements Reader {
  over = false;
  stopped: string | undefined;
  usage: Usage | undefined;
  model: string | undefined;
  readonly #thinking: boolean;
  readonly #blocks = new Map<number, { block: Block; json: string }>();
  #text = "";

  constructor(thinking: boolean, model: string) {
    this.#thinking = thinking;
    this.model = model;
  }

  take(event: Fields, out: ModelEvent[]): void {
    const index = event["index"] as number;
    switch (event["type"]) {
      case "content_block_delta":
        this.#grow(index, fieldsOf(event["delta"]), out);
        break;
      case "content_block_start":
        this.#blocks.set(index, { block: { ...fieldsOf(event["content_block"]) }, json: "" });
        break;
      case "message_start": {
        const message = fieldsOf(event["message"]);
        this.model = textIn(message["model"]) || this.model;
        this.#count(fieldsOf(message["usage"]));
        break;
      }
      case "message_delta":
        this.stopped = textIn(fieldsOf(event["delta"])["stop_reason"]) || this.stopped;
        this.#count(fieldsOf(event["usage"]));
        break;
      case "message_stop":
        this.over = true;
        break;
      case "error":
        throw vendorError(event["error"]);
      default:
      // A ping, or an event of a later version of the API.
    }
  }

  #grow(index: number, delta: Fields, out: ModelEvent[]): void {
    const growing = this.#blocks.get(index);
    if (growing === undefined) return;
    const { block } = growing;
    const add = (key: string, text: string) => {
      block[key] = textIn(block[key]) + text;
    };
    if (delta["type"] === "text_delta") {
      const text = textIn(delta["text"]);
      add("text", text);
      this.#text += text;
      if (text !== "") out.push({ type: "text", text });
    } else if (delta["type"] === "thinking_delta") {
      const text = textIn(delta["thinking"]);
      add("thinking", text);
      if (text !== "" && this.#thinking) out.push({ type: "thinking", text });
    } else if (delta["type"] === "signature_delta") add("signature", textIn(delta["signature"]));
    else if (delta["type"] === "input_json_delta") growing.json += textIn(delta["partial_json"]);
  }

  /** Later counts are of the whole so far, and win. */
  #count(counted: Fields): void {
    const { input = 0, output = 0, cacheRead = 0, cacheCreate = 0 } = this.usage ?? {};
    if (Object.keys(counted).length === 0) return;
    this.usage = {
      input: countOf(counted["input_tokens"] ?? input),
      output: countOf(counted["output_tokens"] ?? output),
      cacheRead: countOf(counted["cache_read_input_tokens"] ?? cacheRead),
      cacheCreate: countOf(counted["cache_creation_input_tokens"] ?? cacheCreate),
    };
  }

  reply(): ModelReply {
    const grown = [...this.#blocks.values()];
    const calls = grown.flatMap(({ block, json }) =>
      block["type"] === "tool_use"
        ? [{ id: textIn(block["id"]), name: textIn(block["name"]), ...(json === "" ? { input: block["input"] ?? {} } : readInput(json)) }]
        : [],
    );
    const blocks = grown.flatMap(({ block, json }) => {
      if (block["type"] === "tool_use") return [{ ...block, input: json === "" ? fieldsOf(block["input"]) : fieldsOf(readInput(json).input) }];
      // The API refuses an empty text.
      return block["type"] === "text" && block["text"] === "" ? [] : [block];
    });
    return { role: "assistant", text: this.#text, ...(calls.length === 0 ? {} : { calls }), own: { blocks } };
  }
}
