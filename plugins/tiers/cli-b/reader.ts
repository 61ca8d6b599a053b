import { type FailureKind, type TierEvent, tierFailure } from "@svc/sdk";
import { brief, countOf, type Fields, fieldsOf, type ServerNews, textOf, vendorFailure } from "@svc/sdk/engine";

/** Reads what the program tells about one turn into events. Pure. */
export interface Reader {
  read(method: string, params: Fields): readonly TierEvent[];
}

/** Makes a reader for one turn. */
export function createReader(model: string | undefined, servers: ServerNews): Reader {
  const open = new Map<string, string>();
  let tokens: { readonly before: Fields; readonly total: Fields } | undefined;
  let answer: string | undefined;
  let speaking: string | undefined;
  /** Of the message that is being told. */
  let said = "";
  /** Text of a message that the sender already has when its stream was cut. */
  let broken: string | undefined;
  let current: string | undefined;

  function readDelta({ itemId, delta }: Fields): TierEvent[] {
    const text = textOf(delta) ?? "";
    if (text === "") return [];
    const first = speaking === undefined;
    // Each message of the turn is a paragraph of its own.
    const gap = !first && speaking !== itemId && broken === undefined;
    if (speaking !== itemId) said = "";
    speaking = textOf(itemId);
    said += text;
    if (broken === undefined) return [{ type: "text", text: gap ? `\n\n${text}` : text }];
    // The program asks again after a cut stream: what the sender has already is not told twice.
    if (broken.startsWith(said)) return [];
    const sent = broken;
    broken = undefined;
    return [{ type: "text", text: said.startsWith(sent) ? said.slice(sent.length) : `\n\n${said}` }];
  }

  function retrying({ error, willRetry }: Fields): TierEvent[] {
    if (willRetry !== true) return [];
    // A second cut may come before the first words were caught up with.
    if (said !== "") broken = broken === undefined || !broken.startsWith(said) ? said : broken;
    said = "";
    const { message, additionalDetails } = fieldsOf(error);
    return [{ type: "waiting", reason: textOf(additionalDetails) ?? textOf(message) ?? "the vendor could not be asked", retryAfterMs: 0 }];
  }

  function judgeServer({ name, status, error }: Fields): readonly TierEvent[] {
    const server = textOf(name);
    if (server === undefined) return [];
    if (status === "failed") return servers.failed(server, textOf(error) ?? "the program says no more about it");
    if (status === "ready") servers.started(server);
    return [];
  }

  function startStep(item: Fields): TierEvent[] {
    const [id, call] = [textOf(item.id), callOf(item)];
    if (id === undefined || call === undefined || open.has(id)) return [];
    open.set(id, call.name);
    return [{ type: "step", step: { id, name: call.name, phase: "start", input: brief(call.input) } }];
  }

  function endItem(item: Fields): TierEvent[] {
    if (item.type === "agentMessage") {
      answer = textOf(item.text) ?? answer;
      said = "";
      broken = undefined;
      return [];
    }
    const [id, call] = [textOf(item.id), callOf(item)];
    if (id === undefined || call === undefined) return [];
    const name = open.get(id) ?? call.name;
    const begun: TierEvent[] = open.delete(id) ? [] : [{ type: "step", step: { id, name, phase: "start", input: brief(call.input) } }];
    const words = brief(call.output);
    const good = item.status === "completed" && (item.exitCode === undefined || item.exitCode === null || item.exitCode === 0);
    return [
      ...begun,
      { type: "step", step: { id, name, phase: "end", ...durationOf(item), ...(good ? { output: words } : { error: words || String(item.status) }) } },
    ];
  }

  /** `total` runs over the whole thread and `last` is one answer of the model: the turn lies between. */
  function readUsage(usage: Fields): void {
    const total = fieldsOf(usage.total);
    tokens = { total, before: tokens?.before ?? difference(total, fieldsOf(usage.last)) };
  }

  function end(turn: Fields): TierEvent[] {
    const left: TierEvent[] = [...open].map(([id, name]) => ({ type: "step", step: { id, name, phase: "end", error: "not finished" } }));
    open.clear();
    const spent = tokens === undefined ? undefined : difference(tokens.total, tokens.before);
    const usage: TierEvent[] = spent === undefined ? [] : [{ type: "usage", usage: usageOf(spent), ...(model === undefined ? {} : { model }) }];
    return [
      ...left,
      ...usage,
      turn.status === "completed" ? (answer ? { type: "done", text: answer } : { type: "done" }) : failure(turn, speaking !== undefined),
    ];
  }

  return {
    read(method, params) {
      switch (method) {
        case "item/agentMessage/delta":
          return readDelta(params);
        case "item/reasoning/summaryTextDelta":
        case "item/reasoning/textDelta":
          return textOf(params.delta) ? [{ type: "thinking", text: params.delta as string }] : [];
        case "item/started":
          return startStep(fieldsOf(params.item));
        case "item/completed":
          return endItem(fieldsOf(params.item));
        case "error":
          return retrying(params);
        case "mcpServer/startupStatus/updated":
          return judgeServer(params);
        case "turn/started":
          current = textOf(fieldsOf(params.turn).id);
          return [];
        case "thread/tokenUsage/updated":
          // A resumed thread tells what its last turn took.
          if (current !== undefined && params.turnId === current) readUsage(fieldsOf(params.tokenUsage));
          return [];
        case "turn/completed":
          return end(fieldsOf(params.turn));
        default:
          return [];
      }
    },
  };
}

/** Returns the tool call of an item; undefined for other items. */
function callOf(item: Fields): { readonly name: string; readonly input: string; readonly output: string } | undefined {
  const said = (value: unknown): string => textOf(value) ?? "";
  switch (item.type) {
    case "commandExecution":
      return { name: "shell", input: said(item.command), output: said(item.aggregatedOutput) };
    case "fileChange":
      return {
        name: "apply_patch",
        input: (Array.isArray(item.changes) ? item.changes : []).map((change) => said(fieldsOf(change).path)).join(", "),
        output: said(item.status),
      };
    case "mcpToolCall":
      return {
        name: `mcp__${said(item.server)}__${said(item.tool)}`,
        input: Object.keys(fieldsOf(item.arguments)).join(", "),
        output: said(fieldsOf(item.error).message) || contentOf(fieldsOf(item.result).content),
      };
    case "webSearch":
      return { name: "web_search", input: said(item.query), output: "" };
    case "dynamicToolCall":
    case "collabAgentToolCall":
      return { name: said(item.tool), input: said(item.prompt), output: said(item.status) };
    default:
      return undefined;
  }
}

const contentOf = (content: unknown): string =>
  Array.isArray(content) ? content.map((block) => textOf(fieldsOf(block).text) ?? `[${String(fieldsOf(block).type)}]`).join("\n") : "";
const durationOf = ({ durationMs }: Fields): { durationMs?: number } => (typeof durationMs === "number" ? { durationMs } : {});

const COUNTED = ["inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens"] as const;
const difference = (left: Fields, right: Fields): Fields =>
  Object.fromEntries(COUNTED.map((name) => [name, Math.max(0, countOf(left[name]) - countOf(right[name]))]));

/** The program counts what came from the cache as input too; ours does not. */
function usageOf(spent: Fields): { input: number; output: number; cacheRead: number; cacheCreate: number } {
  const [cacheRead, cacheCreate] = [countOf(spent.cachedInputTokens), countOf(spent.cacheWriteInputTokens)];
  return { input: Math.max(0, countOf(spent.inputTokens) - cacheRead - cacheCreate), output: countOf(spent.outputTokens), cacheRead, cacheCreate };
}

function failure({ status, error }: Fields, said: boolean): TierEvent {
  if (status === "interrupted") return tierFailure("cancelled", "The program was interrupted.");
  const { message, codexErrorInfo: info } = fieldsOf(error);
  const name = textOf(info) ?? Object.keys(fieldsOf(info))[0] ?? "";
  const code = countOf(fieldsOf(Object.values(fieldsOf(info))[0]).httpStatusCode);
  const failureText = textOf(message) ?? `The program ended the turn with '${String(status)}'.`;
  if (name === "unauthorized" || code === 401 || code === 403 || /\b401\b|missing environment variable/i.test(failureText)) {
    return tierFailure("auth", `${failureText} Sign in with \`codex login\` as the daemon's user, or set billing 'api' and OPENAI_API_KEY.`);
  }
  const named = KINDS.find(([pattern]) => pattern.test(name))?.[1];
  const judged = vendorFailure({ status: code, message: failureText, said });
  return named === undefined ? judged : { ...judged, kind: named };
}

/** The program's own names of the failures. */
const KINDS: readonly (readonly [RegExp, FailureKind])[] = [
  [/contextWindowExceeded/, "context"],
  [/usageLimit|rateLimit/i, "rate-limit"],
  [/overloaded|capacity/i, "overloaded"],
  [/internalServerError/, "server"],
  [/badRequest/, "request"],
];
