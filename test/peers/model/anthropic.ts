import { array, distinct, type Fields, object, refuseUnless, ScriptedFailure, text, toolName } from "./check.ts";
import { type Conversation, type Move, unwrap } from "./script.ts";
import type { Exchange } from "./wire.ts";

const BLOCKS = {
  user: new Set(["text", "image", "document", "tool_result"]),
  assistant: new Set(["text", "tool_use", "thinking", "redacted_thinking"]),
  system: new Set(["text"]),
} as const;

/** Checks a `/v1/messages` body as the API does and tells what the conversation is about. */
export function readMessages(body: Fields, counting = false): Conversation {
  const model = text(body.model, "model");
  if (!counting) refuseUnless(Number.isInteger(body.max_tokens) && (body.max_tokens as number) > 0, "max_tokens: must be a positive integer");
  const tools = readTools(body);
  if (body.system !== undefined && typeof body.system !== "string") {
    for (const [at, block] of array(body.system, "system").entries())
      refuseUnless(text(object(block, `system.${at}`).text, `system.${at}.text`).length > 0, `system.${at}: text must not be empty`);
  }
  refuseUnless(cacheMarks(body) <= 4, "A maximum of 4 blocks with cache_control may be provided");
  const messages = array(body.messages, "messages");
  refuseUnless(messages.length > 0, "messages: at least one message is required");
  let prompt = "";
  let results: string[] = [];
  let open: string[] = [];
  for (const [at, entry] of messages.entries()) {
    const path = `messages.${at}`;
    const message = object(entry, path);
    const role = text(message.role, `${path}.role`);
    refuseUnless(role === "user" || role === "assistant" || role === "system", `${path}.role: '${role}' is not a role`);
    const blocks =
      typeof message.content === "string"
        ? [{ type: "text", text: message.content }]
        : array(message.content, `${path}.content`).map((block, n) => object(block, `${path}.content.${n}`));
    refuseUnless(blocks.length > 0 || at === messages.length - 1, `${path}: all messages must have non-empty content`);
    const answered: string[] = [];
    const words: string[] = [];
    const called: string[] = [];
    for (const [n, block] of blocks.entries()) {
      const here = `${path}.content.${n}`;
      const type = text(block.type, `${here}.type`);
      refuseUnless(BLOCKS[role].has(type), `${here}: a '${type}' block is not allowed in a ${role} message`);
      if (type === "text") {
        refuseUnless(text(block.text, `${here}.text`).length > 0, `${here}: text content blocks must be non-empty`);
        words.push(block.text as string);
      } else if (type === "image") checkImage(object(block.source, `${here}.source`), here);
      else if (type === "tool_use") {
        object(block.input, `${here}.input`);
        toolName(block.name, `${here}.name`);
        called.push(text(block.id, `${here}.id`));
      } else if (type === "tool_result") {
        answered.push(text(block.tool_use_id, `${here}.tool_use_id`));
        results.push(flatten(block.content));
      }
    }
    if (role === "system") continue;
    refuseUnless(sameIds(open, answered), `${path}: tool_result blocks [${answered}] do not answer the tool_use blocks [${open}] of the message before`);
    open = called;
    distinct(called, `${path}: tool_use ids`);
    // Programs join turns that were cut short: only the last block is the newest words.
    const said = words.map(unwrap).findLast((text) => text !== "") ?? "";
    if (role === "user" && said !== "") {
      prompt = said;
      if (answered.length === 0) results = [];
    }
  }
  refuseUnless(open.length === 0, `messages.${messages.length - 1}: tool_use without a tool_result`);
  return { model, prompt, results, tools };
}

function readTools(body: Fields): string[] {
  if (body.tools === undefined) return [];
  const names = array(body.tools, "tools").map((entry, at) => {
    const tool = object(entry, `tools.${at}`);
    if (tool.type === undefined || tool.type === "custom")
      refuseUnless(object(tool.input_schema, `tools.${at}.input_schema`).type === "object", `tools.${at}.input_schema.type: must be 'object'`);
    return toolName(tool.name, `tools.${at}.name`);
  });
  distinct(names, "tools");
  if (object(body.tool_choice ?? {}, "tool_choice").type === "tool")
    refuseUnless(names.includes((body.tool_choice as Fields).name as string), "tool_choice.name: no such tool");
  return names;
}

function checkImage(source: Fields, path: string): void {
  refuseUnless(source.type === "base64" || source.type === "url", `${path}.source.type: must be base64 or url`);
  if (source.type !== "base64") return;
  const data = Buffer.from(text(source.data, `${path}.source.data`), "base64");
  const signs: Record<string, string> = { "image/png": "89504e47", "image/jpeg": "ffd8ff", "image/gif": "47494638", "image/webp": "52494646" };
  const sign = signs[text(source.media_type, `${path}.source.media_type`)];
  refuseUnless(sign !== undefined && data.toString("hex").startsWith(sign), `${path}: the image does not match the media type ${String(source.media_type)}`);
}

const sameIds = (left: readonly string[], right: readonly string[]): boolean => left.length === right.length && left.every((id) => right.includes(id));

function flatten(content: unknown): string {
  if (content === undefined) return "";
  if (typeof content === "string") return content;
  return array(content, "tool_result.content")
    .map((block) => String(object(block, "tool_result.content").text ?? ""))
    .join("\n");
}

function cacheMarks(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, entry) => sum + cacheMarks(entry), 0);
  return Object.entries(value).reduce(
    (sum, [key, entry]) => sum + (key === "cache_control" && entry ? 1 : key === "input_schema" || key === "input" ? 0 : cacheMarks(entry)),
    0,
  );
}

/** The error body of the API for a status. */
export function messagesError(status: number, message: string): Fields {
  const types: Record<number, string> = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  return { type: "error", error: { type: types[status] ?? "api_error", message } };
}

/** Counts tokens by length. A system prompt marked for the cache is written to it at first and read from it later. */
function countUsage(body: Fields, seen: Set<string>): Fields {
  const whole = Math.ceil(JSON.stringify(body).length / 4);
  if (cacheMarks(body.system) === 0) return { input_tokens: whole, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const prefix = JSON.stringify([body.tools, body.system]);
  const cached = Math.min(whole - 1, Math.ceil(prefix.length / 4));
  const known = seen.has(prefix);
  seen.add(prefix);
  return { input_tokens: whole - cached, cache_creation_input_tokens: known ? 0 : cached, cache_read_input_tokens: known ? cached : 0 };
}

/** The vendor's words for a conversation that the model does not hold. */
const TOO_LONG = "prompt is too long: 214135 tokens > 200000 maximum";

/** Plays a move over `/v1/messages`, streamed when the body asks for it. */
export async function answerMessages(exchange: Exchange, body: Fields, model: string, move: Move, seen: Set<string>): Promise<void> {
  if (move.kind === "hang") return await exchange.hang();
  if (move.kind === "fail") throw new ScriptedFailure(move.status, move.overflow && TOO_LONG);
  const content: Fields[] = [];
  if ("thinking" in move && move.thinking && object(body.thinking ?? {}, "thinking").type !== undefined)
    content.push({ type: "thinking", thinking: move.thinking, signature: "c2lnbmVk" });
  if (move.kind === "call") for (const call of move.calls) content.push({ type: "tool_use", id: exchange.id("toolu"), name: call.name, input: call.input });
  else content.push({ type: "text", text: move.pieces.join("") });
  const usage = countUsage(body, seen);
  const output = Math.ceil(JSON.stringify(content).length / 4);
  const message = { id: exchange.id("msg"), type: "message", role: "assistant", model, stop_sequence: null };
  const stop = move.kind === "call" ? "tool_use" : "end_turn";
  if (body.stream !== true) return exchange.json(200, { ...message, content, stop_reason: stop, usage: { ...usage, output_tokens: output } });
  const stream = exchange.stream();
  const send = (event: Fields & { type: string }) => stream.event(event, event.type);
  send({ type: "message_start", message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } });
  for (const [index, block] of content.entries()) {
    if (block.type === "text") {
      send({ type: "content_block_start", index, content_block: { type: "text", text: "" } });
      for (const piece of move.kind === "call" ? [] : move.pieces) {
        if (move.kind === "say") await stream.pause(move.pauseMs);
        send({ type: "content_block_delta", index, delta: { type: "text_delta", text: piece } });
        if (move.kind === "drop") return exchange.drop();
      }
    } else if (block.type === "thinking") {
      send({ type: "content_block_start", index, content_block: { type: "thinking", thinking: "", signature: "" } });
      send({ type: "content_block_delta", index, delta: { type: "thinking_delta", thinking: block.thinking } });
      send({ type: "content_block_delta", index, delta: { type: "signature_delta", signature: block.signature } });
    } else {
      send({ type: "content_block_start", index, content_block: { ...block, input: {} } });
      const json = JSON.stringify(block.input);
      const half = Math.ceil(json.length / 2);
      for (const part of [json.slice(0, half), json.slice(half)])
        send({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: part } });
    }
    send({ type: "content_block_stop", index });
  }
  send({ type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: output } });
  send({ type: "message_stop" });
  stream.end();
}
