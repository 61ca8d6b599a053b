import { type TierEvent, tierFailure } from "@svc/sdk";
import { brief, countOf, type Fields, fieldsOf, listOf, type ServerNews, textOf, vendorFailure } from "@svc/sdk/engine";

/** Reads the messages of one turn into events. Pure: no clock but the one given, no process. */
export interface Reader {
  read(message: Fields): readonly TierEvent[];
  /** The program took the turn up: a session exists. */
  readonly begun: boolean;
}

/** Fields that summarise a tool call in one line: never the content that it writes. */
const TELLING = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "prompt", "name"] as const;

/** Makes a reader for one turn. */
export function createReader(servers: ServerNews, now: () => number = Date.now): Reader {
  const open = new Map<string, { readonly name: string; readonly at: number }>();
  let begun = false;
  let model: string | undefined;
  let streamed = false;
  let blockEnded = false;

  function readStream(event: Fields): TierEvent[] {
    const delta = fieldsOf(event.delta);
    if (event.type === "content_block_start" && fieldsOf(event.content_block).type === "text") {
      // Words before and after a tool call are two paragraphs.
      const gap = blockEnded;
      blockEnded = false;
      return gap ? [{ type: "text", text: "\n\n" }] : [];
    }
    if (event.type === "message_stop") blockEnded = streamed;
    if (event.type !== "content_block_delta") return [];
    if (delta.type === "text_delta" && textOf(delta.text)) {
      streamed = true;
      return [{ type: "text", text: delta.text as string }];
    }
    return delta.type === "thinking_delta" && textOf(delta.thinking) ? [{ type: "thinking", text: delta.thinking as string }] : [];
  }

  function judgeServer({ name, status, error }: Fields): readonly TierEvent[] {
    const server = textOf(name);
    if (server === undefined) return [];
    if (status === "failed") return servers.failed(server, textOf(error) ?? "the program says no more about it");
    if (status === "connected") servers.started(server);
    return [];
  }

  function startStep(block: Fields): TierEvent[] {
    const [id, name] = [textOf(block.id), textOf(block.name)];
    if (block.type !== "tool_use" || id === undefined || name === undefined || open.has(id)) return [];
    open.set(id, { name, at: now() });
    return [{ type: "step", step: { id, name, phase: "start", input: summarize(fieldsOf(block.input)) } }];
  }

  function endStep(block: Fields): TierEvent[] {
    const id = textOf(block.tool_use_id);
    const begunStep = id === undefined ? undefined : open.get(id);
    if (block.type !== "tool_result" || id === undefined || begunStep === undefined) return [];
    open.delete(id);
    const words = brief(flatten(block.content));
    return [
      {
        type: "step",
        step: { id, name: begunStep.name, phase: "end", durationMs: now() - begunStep.at, ...(block.is_error === true ? { error: words } : { output: words }) },
      },
    ];
  }

  function readResult(result: Fields): TierEvent[] {
    const usage = fieldsOf(result.usage);
    const spoken = textOf(result.result);
    const left: TierEvent[] = [...open].map(([id, { name }]) => ({ type: "step", step: { id, name, phase: "end", error: "not finished" } }));
    open.clear();
    return [
      ...left,
      {
        type: "usage",
        usage: {
          input: countOf(usage.input_tokens),
          output: countOf(usage.output_tokens),
          cacheRead: countOf(usage.cache_read_input_tokens),
          cacheCreate: countOf(usage.cache_creation_input_tokens),
          ...costOf(result),
        },
        ...(model === undefined ? {} : { model }),
      },
      result.is_error === true ? failure(result, streamed) : spoken ? { type: "done", text: spoken } : { type: "done" },
    ];
  }

  return {
    get begun() {
      return begun;
    },
    read(message) {
      const own = message.parent_tool_use_id === undefined || message.parent_tool_use_id === null;
      switch (message.type) {
        case "system": {
          const id = textOf(message.session_id);
          if (message.subtype === "api_retry") return retrying(message);
          if (message.subtype !== "init" || id === undefined) return [];
          begun = true;
          model = textOf(message.model);
          return [{ type: "session", id }, ...listOf(message.mcp_servers).flatMap(judgeServer)];
        }
        // Text of a sub-agent is internal; its tool calls are reported.
        case "stream_event":
          return own ? readStream(fieldsOf(message.event)) : [];
        case "assistant":
          return listOf(fieldsOf(message.message).content).flatMap(startStep);
        case "user":
          return listOf(fieldsOf(message.message).content).flatMap(endStep);
        case "result":
          return readResult(message);
        default:
          return [];
      }
    },
  };
}

/** A refused key does not get better: the program would go on asking. Once may be a sign-in that is being renewed. */
function retrying(retry: Fields): readonly TierEvent[] {
  const status = countOf(retry.error_status);
  if (status !== 401 && status !== 403) {
    const reason = `${textOf(retry.error) ?? "the vendor could not be asked"}${status === 0 ? "" : ` (status ${status})`}`;
    return [{ type: "waiting", reason, retryAfterMs: countOf(retry.retry_delay_ms) }];
  }
  if (countOf(retry.attempt) < 2) return [];
  return [tierFailure("auth", `The vendor refused the sign-in or the key (${status}); check agents.<id>.billing and the daemon's environment.`)];
}

/** A failed result, told by what the vendor answered. Its `subtype` may well be "success". */
function failure(result: Fields, said: boolean): TierEvent {
  const failureText = textOf(result.result) ?? (Array.isArray(result.errors) ? result.errors.map(String).join("; ") : "");
  const message = failureText || `The program ended the turn with '${String(result.subtype)}'.`;
  if (textOf(result.terminal_reason)?.startsWith("aborted")) return tierFailure("cancelled", "The program was interrupted.");
  if (/not logged in|\/login/i.test(message)) {
    return tierFailure("auth", "Claude Code is not signed in: run `claude` once as the daemon's user, or set billing 'api' and ANTHROPIC_API_KEY.");
  }
  if (result.subtype === "error_max_budget_usd") return tierFailure("budget", message);
  if (result.subtype === "error_max_turns") return tierFailure("step-limit", message);
  if (/no conversation found/i.test(message)) return tierFailure("session", message);
  const status = countOf(result.api_error_status);
  if (status === 0 && result.api_error === "connection_failed") return tierFailure("network", message);
  return vendorFailure({ status, message, said });
}

/** `total_cost_usd` runs over the whole session, this over the turn; older programs do not tell it. */
function costOf({ model_usage_since_last_result: models }: Fields): { cost?: number } {
  const costs = Object.values(fieldsOf(models)).map((each) => fieldsOf(each).costUSD);
  if (costs.length === 0 || !costs.every((cost): cost is number => typeof cost === "number" && cost >= 0)) return {};
  return { cost: costs.reduce((sum, cost) => sum + cost, 0) };
}

function summarize(input: Fields): string {
  const summary = TELLING.map((name) => textOf(input[name])).find((text) => text);
  return brief(summary ?? Object.keys(input).join(", "));
}

function flatten(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((block) => textOf(block.text) ?? `[${String(block.type)}]`)
    .join("\n");
}
