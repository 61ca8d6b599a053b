import { array, distinct, type Fields, object, refuseUnless, ScriptedFailure, text, toolName } from "./check.ts";
import { type Conversation, type Move, unwrap } from "./script.ts";
import type { Exchange } from "./wire.ts";

/** Checks a `/v1/responses` body as the API does and tells what the conversation is about. */
export function readResponses(body: Fields): Conversation {
  const model = text(body.model, "model");
  const tools = toolNames(body);
  let prompt = "";
  let results: string[] = [];
  const open = new Set<string>();
  const items = typeof body.input === "string" ? [{ type: "message", role: "user", content: body.input }] : array(body.input, "input");
  for (const [at, entry] of items.entries()) {
    const path = `input[${at}]`;
    const item = object(entry, path);
    const type = item.type ?? "message";
    if (type === "message") {
      refuseUnless(["user", "assistant", "system", "developer"].includes(item.role as string), `${path}.role: '${String(item.role)}' is not a role`);
      const words = unwrap(flatten(item.content, path, item.role as string));
      if (item.role === "user" && words !== "" && !words.startsWith("# AGENTS.md")) {
        prompt = words;
        results = [];
      }
    } else if (type === "function_call" || type === "custom_tool_call") {
      if (type === "function_call") JSON.parse(text(item.arguments, `${path}.arguments`));
      open.add(text(item.call_id, `${path}.call_id`));
    } else if (type === "function_call_output" || type === "custom_tool_call_output") {
      const id = text(item.call_id, `${path}.call_id`);
      refuseUnless(open.delete(id), `${path}: no tool call found for function call output with call_id ${id}`);
      results.push(flatten(item.output, path, "user"));
    } else
      refuseUnless(
        [
          "reasoning",
          "compaction",
          "web_search_call",
          "local_shell_call",
          "local_shell_call_output",
          "tool_search_call",
          "tool_search_output",
          "additional_tools",
          "configuration_update",
        ].includes(type as string),
        `${path}.type: '${String(type)}' is not known`,
      );
  }
  refuseUnless(open.size === 0, `input: no tool output found for function call ${[...open].join(", ")}`);
  return { model, prompt, results, tools };
}

function toolNames(body: Fields): string[] {
  if (body.tools === undefined) return [];
  const names = array(body.tools, "tools").flatMap((entry, at) => {
    const tool = object(entry, `tools[${at}]`);
    if (tool.type === "namespace") return array(tool.tools, `tools[${at}].tools`).map((inner) => `${String(tool.name)}/${String(object(inner, "tools").name)}`);
    if (tool.type !== "function" && tool.type !== "custom") return [];
    if (tool.type === "function") object(tool.parameters, `tools[${at}].parameters`);
    return [toolName(tool.name, `tools[${at}].name`, /^[\w-]{1,64}$/)];
  });
  distinct(names, "tools");
  return names;
}

function flatten(content: unknown, path: string, role: string): string {
  if (typeof content === "string") return content;
  const expected = role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file"];
  return array(content, `${path}.content`)
    .map((part, n) => {
      const { type, text: words } = object(part, `${path}.content[${n}]`);
      refuseUnless(expected.includes(type as string), `${path}.content[${n}].type: '${String(type)}' is not allowed in a ${role} message`);
      return type === "input_text" || type === "output_text" ? text(words, `${path}.content[${n}].text`) : "";
    })
    .join("\n");
}

/** The vendor's words for a conversation that the model does not hold. */
const TOO_LONG = "Your input exceeds the context window of this model. Please adjust your input and try again.";

/** Plays a move over `/v1/responses`, streamed when the body asks for it. */
export async function answerResponses(exchange: Exchange, body: Fields, { tools }: Conversation, model: string, move: Move): Promise<void> {
  if (move.kind === "hang") return await exchange.hang();
  if (move.kind === "fail" && (!move.overflow || body.stream !== true)) throw new ScriptedFailure(move.status, move.overflow && TOO_LONG);
  if (move.kind === "fail") return overflow(exchange, model);
  const output: Fields[] = [];
  if ("thinking" in move && move.thinking) output.push({ type: "reasoning", id: exchange.id("rs"), summary: [{ type: "summary_text", text: move.thinking }] });
  if (move.kind === "call") for (const call of move.calls) output.push(callItem(exchange, tools, call.name, call.input));
  else
    output.push({
      type: "message",
      id: exchange.id("msg"),
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: move.pieces.join(""), annotations: [] }],
    });
  const input = Math.ceil(JSON.stringify(body).length / 4);
  const spoken = Math.ceil(JSON.stringify(output).length / 4);
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: spoken,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + spoken,
  };
  const head = { id: exchange.id("resp"), object: "response", created_at: 1_700_000_000, model, error: null, incomplete_details: null };
  const whole = { ...head, status: "completed", output, usage };
  if (body.stream !== true) return exchange.json(200, whole);
  const stream = exchange.stream();
  let sequence = 0;
  const send = (type: string, data: Fields) => stream.event({ type, sequence_number: sequence++, ...data }, type);
  send("response.created", { response: { ...head, status: "in_progress", output: [], usage: null } });
  for (const [index, item] of output.entries()) {
    const at = { output_index: index, item_id: item.id };
    if (item.type === "message") {
      send("response.output_item.added", { output_index: index, item: { ...item, status: "in_progress", content: [] } });
      send("response.content_part.added", { ...at, content_index: 0, part: { type: "output_text", text: "", annotations: [] } });
      for (const piece of move.kind === "call" ? [] : move.pieces) {
        if (move.kind === "say") await stream.pause(move.pauseMs);
        send("response.output_text.delta", { ...at, content_index: 0, delta: piece });
        if (move.kind === "drop") return exchange.drop();
      }
      send("response.output_text.done", { ...at, content_index: 0, text: (item.content as Fields[])[0]?.text });
    } else {
      send("response.output_item.added", { output_index: index, item });
      if (item.type === "reasoning") send("response.reasoning_summary_text.delta", { ...at, summary_index: 0, delta: (item.summary as Fields[])[0]?.text });
    }
    send("response.output_item.done", { output_index: index, item });
  }
  send("response.completed", { response: whole });
  stream.end();
}

/** The vendor begins its answer before it has counted. */
function overflow(exchange: Exchange, model: string): void {
  const head = { id: exchange.id("resp"), object: "response", created_at: 1_700_000_000, model, output: [], usage: null, incomplete_details: null };
  const stream = exchange.stream();
  const created = { type: "response.created", sequence_number: 0, response: { ...head, status: "in_progress", error: null } };
  const error = { code: "context_length_exceeded", message: TOO_LONG };
  stream.event(created, created.type);
  stream.event({ type: "response.failed", sequence_number: 1, response: { ...head, status: "failed", error } }, "response.failed");
  stream.end();
}

/** Tools of a namespace are called by namespace and name. */
function callItem(exchange: Exchange, tools: readonly string[], name: string, input: Fields): Fields {
  const space = tools.find((tool) => tool.endsWith(`/${name}`))?.split("/")[0];
  return {
    type: "function_call",
    id: exchange.id("fc"),
    call_id: exchange.id("call"),
    status: "completed",
    name,
    arguments: JSON.stringify(input),
    ...(space ? { namespace: space } : {}),
  };
}
