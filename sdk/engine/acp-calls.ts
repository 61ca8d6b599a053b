import { type Fields, textOf } from "./fields.ts";

/** The tool calls of an Agent Client Protocol session: collects their details before the program asks for permission. */
export interface AcpCalls {
  /** An update of the session, of whatever sort. */
  note(update: Fields): void;
  /** Returns all known details of a call that the program asks about. */
  whole(toolCall: Fields): Fields;
}

/** Number of calls kept: the question comes with the call or right after it. */
const MOST = 64;

/** No call is known yet. */
export function createAcpCalls(): AcpCalls {
  const calls = new Map<string, Fields>();
  return {
    note({ sessionUpdate, ...told }) {
      const id = textOf(told.toolCallId);
      if (id === undefined || (sessionUpdate !== "tool_call" && sessionUpdate !== "tool_call_update")) return;
      calls.set(id, { ...calls.get(id), ...told });
      if (calls.size > MOST) calls.delete(calls.keys().next().value ?? "");
    },
    whole: (toolCall) => ({ ...calls.get(textOf(toolCall.toolCallId) ?? ""), ...toolCall }),
  };
}
