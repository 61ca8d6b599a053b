import { type SvcError, type TierEvent, tierFailure } from "@svc/sdk";
import { countOf, type Fields, fieldsOf, textOf, vendorFailure } from "@svc/sdk/engine";

/** Reads what the program tells about one turn into events. Pure: no clock but the one given. */
export interface Reader {
  /** One `session/update`. */
  update(update: Fields): readonly TierEvent[];
  /** A tool call that was not allowed: the program tells nothing more about it. */
  declined(toolCall: Fields): readonly TierEvent[];
  /** The answer to `session/prompt`. */
  end(result: Fields): readonly TierEvent[];
  /** A tool call is open: the program's own history is not well-formed now. */
  readonly busy: boolean;
  /** The last message so far. */
  readonly answer: string;
}

const BRIEF = 200;

export function createReader(now: () => number = Date.now): Reader {
  const open = new Map<string, { readonly name: string; readonly at: number }>();
  let answer = "";
  let spoken = false;
  let worked = false;

  function say(text: string): TierEvent[] {
    if (text === "") return [];
    // Words before and after a tool call are two paragraphs.
    const gap = worked && spoken;
    if (worked) answer = "";
    worked = false;
    spoken = true;
    answer += text;
    return [{ type: "text", text: gap ? `\n\n${text}` : text }];
  }

  function step(call: Fields): TierEvent[] {
    const id = textOf(call.toolCallId);
    if (id === undefined) return [];
    worked = true;
    const begun = open.get(id);
    const name = begun?.name ?? nameOf(id, call);
    const events: TierEvent[] = [];
    if (begun === undefined) {
      open.set(id, { name, at: now() });
      events.push({ type: "step", step: { id, name, phase: "start", input: brief(textOf(call.title) ?? "") } });
    }
    if (call.status === "completed" || call.status === "failed") {
      const words = brief(contentOf(call.content));
      const durationMs = now() - (open.get(id)?.at ?? now());
      open.delete(id);
      events.push({
        type: "step",
        step: { id, name, phase: "end", durationMs, ...(call.status === "completed" ? { output: words } : { error: words || "failed" }) },
      });
    }
    return events;
  }

  return {
    get busy() {
      return open.size > 0;
    },
    get answer() {
      return answer;
    },
    update(update) {
      const words = textOf(fieldsOf(update.content).text) ?? "";
      switch (update.sessionUpdate) {
        case "agent_message_chunk":
          return say(words);
        case "agent_thought_chunk":
          return words === "" ? [] : [{ type: "thinking", text: words }];
        case "tool_call":
        case "tool_call_update":
          return step(update);
        default:
          return [];
      }
    },
    declined(toolCall) {
      const id = textOf(toolCall.toolCallId) ?? "";
      worked = true;
      return [
        {
          type: "step",
          step: { id, name: nameOf(id, toolCall), phase: "end", input: brief(textOf(toolCall.title) ?? ""), error: "permissionMode does not allow it" },
        },
      ];
    },
    end(result) {
      const left: TierEvent[] = [...open].map(([id, { name }]) => ({ type: "step", step: { id, name, phase: "end", error: "not finished" } }));
      const quota = fieldsOf(fieldsOf(result._meta).quota);
      const count = fieldsOf(quota.token_count);
      const models = Array.isArray(quota.model_usage) ? quota.model_usage.map(fieldsOf) : [];
      const model = textOf(models.at(-1)?.model);
      const usage: TierEvent[] =
        quota.token_count === undefined
          ? []
          : [{ type: "usage", usage: { input: countOf(count.input_tokens), output: countOf(count.output_tokens) }, ...(model === undefined ? {} : { model }) }];
      return [...left, ...usage, ending(result, answer)];
    },
  };
}

function ending({ stopReason }: Fields, answer: string): TierEvent {
  if (stopReason === "end_turn" || stopReason === "max_tokens") return answer === "" ? { type: "done" } : { type: "done", text: answer };
  if (stopReason === "cancelled") return tierFailure("cancelled", "The program was interrupted.");
  if (stopReason === "max_turn_requests") return tierFailure("step-limit", "The program gave up after its limit of model calls.");
  if (stopReason === "refusal") return tierFailure("no-answer", "The model refused to answer.");
  return tierFailure("engine", `The program ended the turn with '${String(stopReason)}'.`);
}

/** What the program, or the vendor through it, refused. */
export function refusal(error: SvcError, said = false): TierEvent {
  const { code, message, data } = fieldsOf((error as unknown as Fields).reply);
  const told = unfold(textOf(message) ?? error.message) || String(fieldsOf(data).details ?? "");
  if (code === 401 || code === 403 || code === -32000 || /auth|api key/i.test(told)) {
    return tierFailure("auth", `${told} Sign in with \`gemini\` as the daemon's user, or set billing 'api' and GEMINI_API_KEY.`);
  }
  return vendorFailure({ status: countOf(code), message: told, said });
}

/** The vendor's own words, where they come wrapped in JSON. */
function unfold(message: string): string {
  try {
    return textOf(fieldsOf(fieldsOf(JSON.parse(message)).error).message) ?? message;
  } catch {
    return message;
  }
}

/** `write_file__<id>`: the tool's name is a part of the call's. */
const nameOf = (id: string, call: Fields): string => /^(.+?)(?:__|-\d)/.exec(id)?.[1] ?? textOf(call.kind) ?? "tool";

function contentOf(content: unknown): string {
  return (Array.isArray(content) ? content : [])
    .map((block) => textOf(fieldsOf(fieldsOf(block).content).text) ?? textOf(fieldsOf(block).path) ?? "")
    .filter((text) => text !== "")
    .join("\n");
}

const brief = (text: string): string => {
  const points = Array.from(text.slice(0, BRIEF * 2));
  return points.length <= BRIEF ? points.join("") : `${points.slice(0, BRIEF).join("")}…`;
};
