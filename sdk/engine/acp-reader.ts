import { type TierFailure, tierFailure } from "../failure.ts";
import type { TierEvent } from "../tier.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./fields.ts";
import { brief } from "./summary.ts";

/** Parses the ACP notifications of one turn into events. Pure: no clock but the injected one. */
export interface AcpReader {
  /** One `session/update`. */
  update(update: Fields): readonly TierEvent[];
  /** A tool call was refused: the program may send no further notification about it. */
  declined(toolCall: Fields, reason: string): readonly TierEvent[];
  /** The answer to `session/prompt`. `refused` names a call that was not allowed: a turn that ends as cancelled ended for that. */
  end(result: Fields, refused?: string): readonly TierEvent[];
  /** The last message so far. */
  readonly answer: string;
}

/** Differences between the programs that speak the protocol. */
export interface AcpDialect {
  /** The tool's name; default: the call's `name`, else its kind. */
  nameOf?(id: string, call: Fields): string | undefined;
  /** Parses the usage of the turn from the answer to `session/prompt`. */
  usageOf?(result: Fields): Extract<TierEvent, { type: "usage" }> | undefined;
}

/** Makes a reader for one turn. */
export function createAcpReader({ nameOf = () => undefined, usageOf = () => undefined }: AcpDialect = {}, now: () => number = Date.now): AcpReader {
  const open = new Map<string, { readonly name: string; readonly at: number }>();
  let answer = "";
  let spoken = false;
  let worked = false;
  let plan = "";
  let plans = 0;

  const named = (id: string, call: Fields): string => nameOf(id, call) ?? textOf(call.name) ?? textOf(call.kind) ?? "tool";

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
    const name = begun?.name ?? named(id, call);
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

  /** The program repeats the whole plan each time; skip one that did not change. */
  function planned(entries: unknown): TierEvent[] {
    const words = listOf(entries)
      .map(({ content, status }) => `${MARKS[String(status)] ?? "[ ]"} ${textOf(content) ?? ""}`)
      .join("\n");
    if (words === "" || words === plan) return [];
    plan = words;
    return [{ type: "step", step: { id: `plan ${++plans}`, name: "plan", phase: "end", output: brief(words) } }];
  }

  return {
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
        case "plan":
          return planned(update.entries);
        default:
          return [];
      }
    },
    declined(toolCall, error) {
      const id = textOf(toolCall.toolCallId) ?? "";
      const name = open.get(id)?.name ?? named(id, toolCall);
      open.delete(id);
      worked = true;
      return [{ type: "step", step: { id, name, phase: "end", input: brief(textOf(toolCall.title) ?? ""), error } }];
    },
    end(result, refused) {
      const left: TierEvent[] = [...open].map(([id, { name }]) => ({ type: "step", step: { id, name, phase: "end", error: "not finished" } }));
      open.clear();
      const usage = usageOf(result);
      return [...left, ...(usage === undefined ? [] : [usage]), ending(result, answer, refused)];
    },
  };
}

const MARKS: Readonly<Record<string, string>> = { completed: "[x]", in_progress: "[>]" };

function ending({ stopReason }: Fields, answer: string, refused: string | undefined): TierEvent {
  if (stopReason === "cancelled" && refused !== undefined)
    return tierFailure("no-answer", `The program gave its turn up when it was refused: ${refused} (permissionMode does not allow it).`);
  if (stopReason === "end_turn" || stopReason === "max_tokens") return answer === "" ? { type: "done" } : { type: "done", text: answer };
  return stopFailure(stopReason);
}

function stopFailure(reason: unknown): TierFailure {
  if (reason === "cancelled") return tierFailure("cancelled", "The program was interrupted.");
  if (reason === "max_turn_requests") return tierFailure("step-limit", "The program gave up after its limit of model calls.");
  if (reason === "refusal") return tierFailure("no-answer", "The model refused to answer.");
  return tierFailure("engine", `The program ended the turn with '${String(reason)}'.`);
}

const contentOf = (content: unknown): string =>
  listOf(content)
    .map((block) => textOf(fieldsOf(block.content).text) ?? textOf(block.path) ?? "")
    .filter((text) => text !== "")
    .join("\n");
