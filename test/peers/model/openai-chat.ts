import { array, distinct, type Fields, object, refuseUnless, ScriptedFailure, text, toolName } from "./check.ts";
import { type Conversation, type Move, unwrap } from "./script.ts";
import type { Exchange } from "./wire.ts";

/** Checks a `/v1/chat/completions` body as the API does and tells what the conversation is about. */
export function readChat(body: Fields): Conversation {
  const model = text(body.model, "model");
  const messages = array(body.messages, "messages");
  refuseUnless(messages.length > 0, "messages: must not be empty");
  const tools =
    body.tools === undefined
      ? []
      : array(body.tools, "tools").map((entry, at) => {
          const tool = object(entry, `tools[${at}]`);
          refuseUnless(tool.type === "function", `tools[${at}].type: must be 'function'`);
          const definition = object(tool.function, `tools[${at}].function`);
          if (definition.parameters !== undefined)
            refuseUnless(
              object(definition.parameters, `tools[${at}].function.parameters`).type === "object",
              `tools[${at}].function.parameters: type must be 'object'`,
            );
          return toolName(definition.name, `tools[${at}].function.name`, /^[\w-]{1,64}$/);
        });
  distinct(tools, "tools");
  let prompt = "";
  let results: string[] = [];
  let open = new Set<string>();
  for (const [at, entry] of messages.entries()) {
    const path = `messages[${at}]`;
    const message = object(entry, path);
    if (message.role === "tool") {
      const id = text(message.tool_call_id, `${path}.tool_call_id`);
      refuseUnless(open.delete(id), `${path}: messages with role 'tool' must answer a preceding message with 'tool_calls'`);
      results.push(flatten(message.content, path));
      continue;
    }
    refuseUnless(open.size === 0, `${path}: tool_call_ids without an answer: ${[...open].join(", ")}`);
    if (message.role === "user") {
      prompt = unwrap(flatten(message.content, path)) || prompt;
      results = [];
    } else if (message.role === "assistant") {
      const calls =
        message.tool_calls === undefined ? [] : array(message.tool_calls, `${path}.tool_calls`).map((call, n) => object(call, `${path}.tool_calls[${n}]`));
      refuseUnless(calls.length > 0 || message.tool_calls === undefined, `${path}.tool_calls: must not be empty`);
      refuseUnless(calls.length > 0 || flatten(message.content, path) !== "", `${path}: an assistant message needs content or tool_calls`);
      for (const call of calls) {
        const definition = object(call.function, `${path}.tool_calls.function`);
        JSON.parse(text(definition.arguments, `${path}.tool_calls.function.arguments`));
      }
      open = new Set(calls.map((call) => text(call.id, `${path}.tool_calls.id`)));
    } else refuseUnless(message.role === "system" || message.role === "developer", `${path}.role: '${String(message.role)}' is not a role`);
  }
  refuseUnless(open.size === 0, `messages: tool_call_ids without an answer: ${[...open].join(", ")}`);
  return { model, prompt, results, tools };
}

function flatten(content: unknown, path: string): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return array(content, `${path}.content`)
    .map((part, n) => {
      const { type, text: words, image_url: image } = object(part, `${path}.content[${n}]`);
      refuseUnless(
        type === "text" || type === "image_url" || type === "input_audio" || type === "file",
        `${path}.content[${n}].type: '${String(type)}' is not known`,
      );
      if (type === "image_url") text(object(image, `${path}.content[${n}].image_url`).url, `${path}.content[${n}].image_url.url`);
      return type === "text" ? text(words, `${path}.content[${n}].text`) : "";
    })
    .join("\n");
}

/** The error body of the OpenAI APIs. */
export function openaiError(status: number, message: string): Fields {
  const type = status === 429 ? "rate_limit_exceeded" : status === 401 ? "invalid_request_error" : status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type, param: null, code: status === 401 ? "invalid_api_key" : null } };
}

/** The vendor's words for a conversation that the model does not hold. */
const TOO_LONG = "This model's maximum context length is 128000 tokens. However, your messages resulted in 214135 tokens.";

/** Plays a move over `/v1/chat/completions`, streamed when the body asks for it. */
export async function answerChat(exchange: Exchange, body: Fields, model: string, move: Move): Promise<void> {
  if (move.kind === "hang") return await exchange.hang();
  if (move.kind === "fail") throw new ScriptedFailure(move.status, move.overflow && TOO_LONG);
  const calls =
    move.kind === "call"
      ? move.calls.map((call, index) => ({
          index,
          id: exchange.id("call"),
          type: "function",
          function: { name: call.name, arguments: JSON.stringify(call.input) },
        }))
      : [];
  const words = move.kind === "call" ? "" : move.pieces.join("");
  const prompt = Math.ceil(JSON.stringify(body).length / 4);
  const completion = Math.ceil((words.length + JSON.stringify(calls).length) / 4);
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, prompt_tokens_details: { cached_tokens: 0 } };
  const head = { id: exchange.id("chatcmpl"), created: 1_700_000_000, model };
  const finish = move.kind === "call" ? "tool_calls" : "stop";
  if (body.stream !== true) {
    const message = { role: "assistant", content: words || null, ...(calls.length > 0 ? { tool_calls: calls.map(({ index: _, ...call }) => call) } : {}) };
    return exchange.json(200, { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage });
  }
  const stream = exchange.stream();
  const send = (delta: Fields, reason: string | null = null) =>
    stream.event({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] });
  send({ role: "assistant", content: "" });
  if ("thinking" in move && move.thinking) send({ reasoning_content: move.thinking });
  for (const call of calls) {
    send({ tool_calls: [{ ...call, function: { ...call.function, arguments: "" } }] });
    send({ tool_calls: [{ index: call.index, function: { arguments: call.function.arguments } }] });
  }
  for (const piece of move.kind === "call" ? [] : move.pieces) {
    if (move.kind === "say") await stream.pause(move.pauseMs);
    send({ content: piece });
    if (move.kind === "drop") return exchange.drop();
  }
  send({}, finish);
  if (object(body.stream_options ?? {}, "stream_options").include_usage === true)
    stream.event({ ...head, object: "chat.completion.chunk", choices: [], usage });
  stream.end("data: [DONE]\n\n");
}
