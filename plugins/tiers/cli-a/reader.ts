import type { TierEvent } from "@svc/sdk";
import { countOf, type Fields, fieldsOf, listOf, textOf } from "./lines.ts";

/** Reads the messages of one turn into events. Pure: no clock but the one given, no process. */
export interface Reader {
  read(message: Fields): readonly TierEvent[];
  /** The program took the turn up: a session exists. */
  readonly begun: boolean;
}

/** What a tool call is about, in one line: never the content that it writes. */
const TELLING = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "prompt", "name"] as const;
const BRIEF = 200;

export function createReader(now: () => number = Date.now): Reader {
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
        },
        ...(model === undefined ? {} : { model }),
      },
      result.is_error === true ? failure(result) : spoken ? { type: "done", text: spoken } : { type: "done" },
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
          if (message.subtype === "api_retry") return giveUp(message);
          if (message.subtype !== "init" || id === undefined) return [];
          begun = true;
          model = textOf(message.model);
          return [{ type: "session", id }];
        }
        // What a sub-agent says is its own affair; what it does is not.
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
function giveUp(retry: Fields): readonly TierEvent[] {
  if (countOf(retry.attempt) < 2 || !/^(401|403)$/.test(String(retry.error_status))) return [];
  return [
    {
      type: "error",
      kind: "auth",
      message: `The vendor refused the sign-in or the key (${String(retry.error_status)}); check agents.<id>.billing and the daemon's environment.`,
    },
  ];
}

/** A failed result, told by what the vendor answered. Its `subtype` may well be "success". */
function failure(result: Fields): TierEvent {
  const told = textOf(result.result) ?? (Array.isArray(result.errors) ? result.errors.map(String).join("; ") : "");
  const message = told || `The program ended the turn with '${String(result.subtype)}'.`;
  const kinds: Record<number, string> = { 401: "auth", 403: "auth", 429: "rate-limit", 503: "overloaded", 529: "overloaded" };
  if (textOf(result.terminal_reason)?.startsWith("aborted")) return { type: "error", kind: "cancelled", message: "The program was interrupted." };
  if (/not logged in|\/login/i.test(message)) {
    return {
      type: "error",
      kind: "auth",
      message: "Claude Code is not signed in: run `claude` once as the daemon's user, or set billing 'api' and ANTHROPIC_API_KEY.",
    };
  }
  return { type: "error", kind: kinds[countOf(result.api_error_status)] ?? (result.terminal_reason === "api_error" ? "api" : "engine"), message };
}

function summarize(input: Fields): string {
  const told = TELLING.map((name) => textOf(input[name])).find((text) => text);
  return brief(told ?? Object.keys(input).join(", "));
}

const brief = (text: string): string => {
  const points = Array.from(text.slice(0, BRIEF * 2));
  return points.length <= BRIEF ? points.join("") : `${points.slice(0, BRIEF).join("")}…`;
};

function flatten(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((block) => textOf(block.text) ?? `[${String(block.type)}]`)
    .join("\n");
}
