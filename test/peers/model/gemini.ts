import { array, type Fields, object, refuseUnless, ScriptedFailure, text, toolName } from "./check.ts";
import { type Conversation, type Move, unwrap } from "./script.ts";
import type { Exchange } from "./wire.ts";

/** Checks a `:generateContent` body as the API does and tells what the conversation is about. */
export function readContents(body: Fields, model: string): Conversation {
  const contents = array(body.contents, "contents");
  refuseUnless(contents.length > 0, "contents: is not specified");
  const tools = (body.tools === undefined ? [] : array(body.tools, "tools")).flatMap((entry, at) => {
    const declarations = object(entry, `tools[${at}]`).functionDeclarations;
    return declarations === undefined
      ? []
      : array(declarations, `tools[${at}].functionDeclarations`).map((declaration, n) =>
          toolName(object(declaration, "functionDeclarations").name, `functionDeclarations[${n}].name`, /^[A-Za-z_][\w.:-]{0,127}$/),
        );
  });
  let prompt = "";
  let results: string[] = [];
  let open = 0;
  for (const [at, entry] of contents.entries()) {
    const path = `contents[${at}]`;
    const { role, parts } = object(entry, path);
    refuseUnless(role === undefined || role === "user" || role === "model", `${path}.role: must be 'user' or 'model'`);
    const list = array(parts, `${path}.parts`).map((part, n) => object(part, `${path}.parts[${n}]`));
    refuseUnless(list.length > 0, `${path}.parts: must not be empty`);
    const answers = list.filter((part) => part.functionResponse !== undefined);
    refuseUnless(
      answers.length === open,
      `${path}: the number of function response parts (${answers.length}) must equal the number of function calls (${open}) of the turn before`,
    );
    open = role === "model" ? list.filter((part) => part.functionCall !== undefined).length : 0;
    for (const [n, part] of list.entries()) {
      const known = ["text", "inlineData", "fileData", "functionCall", "functionResponse", "thought", "executableCode"].some((key) => part[key] !== undefined);
      refuseUnless(known, `${path}.parts[${n}]: has no data`);
    }
    for (const { functionResponse } of answers) results.push(flatten(object(functionResponse, `${path}.functionResponse`).response));
    const words = unwrap(list.map((part) => (typeof part.text === "string" ? part.text : "")).join("\n"));
    if (role !== "model" && words !== "" && answers.length === 0) {
      prompt = words;
      results = [];
    }
  }
  refuseUnless(open === 0, "contents: a function call has no response");
  return { model, prompt, results, tools };
}

const flatten = (response: unknown): string => {
  const { output, error } = object(response, "functionResponse.response");
  return typeof output === "string" ? output : typeof error === "string" ? error : JSON.stringify(response);
};

/** The error body of the Gemini API. */
export function geminiError(status: number, message: string): Fields {
  const names: Record<number, string> = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
  };
  return { error: { code: status, message, status: names[status] ?? "INTERNAL" } };
}

/** The vendor's words for a conversation that the model does not hold. */
const TOO_LONG = "The input token count (1214135) exceeds the maximum number of tokens allowed (1048576).";

/** Plays a move over `:generateContent` or, with `streamed`, `:streamGenerateContent?alt=sse`. */
export async function answerContents(exchange: Exchange, body: Fields, model: string, move: Move, streamed: boolean): Promise<void> {
  if (move.kind === "hang") return await exchange.hang();
  if (move.kind === "fail") throw new ScriptedFailure(move.status, move.overflow && TOO_LONG);
  const calls = move.kind === "call" ? move.calls.map((call) => ({ functionCall: { id: exchange.id("toolu"), name: call.name, args: call.input } })) : [];
  const pieces = move.kind === "call" ? [] : move.pieces;
  const prompt = Math.ceil(JSON.stringify(body).length / 4);
  const spoken = Math.ceil(JSON.stringify([calls, pieces]).length / 4);
  const usageMetadata = { promptTokenCount: prompt, candidatesTokenCount: spoken, totalTokenCount: prompt + spoken };
  const head = { modelVersion: model, responseId: exchange.id("resp") };
  const chunk = (parts: Fields[], last: boolean) => ({
    candidates: [{ index: 0, content: { role: "model", parts }, ...(last ? { finishReason: "STOP" } : {}) }],
    ...(last ? { usageMetadata } : {}),
    ...head,
  });
  // A classifier call demands JSON of its own schema: the smallest thing that fits ends it.
  if (object(body.generationConfig ?? {}, "generationConfig").responseMimeType === "application/json" && move.kind === "say") {
    return exchange.json(
      200,
      chunk(
        [
          {
            text: JSON.stringify(
              sample(object(body.generationConfig, "generationConfig").responseJsonSchema ?? (body.generationConfig as Fields).responseSchema),
            ),
          },
        ],
        true,
      ),
    );
  }
  if (!streamed) return exchange.json(200, chunk(calls.length > 0 ? calls : [{ text: pieces.join("") }], true));
  const stream = exchange.stream();
  if ("thinking" in move && move.thinking) stream.event(chunk([{ text: move.thinking, thought: true }], false));
  for (const piece of pieces) {
    if (move.kind === "say") await stream.pause(move.pauseMs);
    stream.event(chunk([{ text: piece }], false));
    if (move.kind === "drop") return exchange.drop();
  }
  stream.event(chunk(calls.length > 0 ? calls : [{ text: "" }], true));
  stream.end();
}

/** A value that satisfies a simple JSON schema. */
function sample(schema: unknown): unknown {
  const { type, properties, enum: choices } = object(schema ?? {}, "schema");
  if (Array.isArray(choices)) return choices[0];
  if (String(type).toLowerCase() === "object")
    return Object.fromEntries(Object.entries(object(properties ?? {}, "properties")).map(([key, value]) => [key, sample(value)]));
  return { string: "ok", number: 1, integer: 1, boolean: true, array: [] }[text(String(type).toLowerCase(), "type")] ?? null;
}
