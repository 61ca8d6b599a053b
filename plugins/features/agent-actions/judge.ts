import type { Approvals, ToolCall } from "@svc/sdk";
import type { Borrowed, ListedAction } from "./action-tools.ts";
import { fail } from "./call-errors.ts";

/** Length of an input that is shown to a person, in characters. */
const SHOWN = 4_000;

/** Decides how an action may run for this call: at once, or after a person's approval. Throws the refusal for the agent. */
export function judge({ name, restricted }: ListedAction, { autonomy = "act" }: Pick<ToolCall, "autonomy">, approvals: Approvals | undefined): "run" | "ask" {
  if (autonomy === "act" || restricted === true) return "run";
  if (autonomy === "report") throw fail("SVC_AGENT_ACTION_REPORT", { action: name });
  if (approvals === undefined) throw fail("SVC_AGENT_ACTION_UNASKED", { action: name });
  return "ask";
}

/** Resolves when a person has approved exactly this call; throws otherwise. */
export async function approved(
  ctx: Pick<Borrowed, "services">,
  { name }: ListedAction,
  input: unknown,
  { agent, taskId }: Pick<ToolCall, "agent" | "taskId">,
  signal: AbortSignal,
): Promise<void> {
  const approvals = ctx.services.get("approvals");
  if (approvals === undefined) throw fail("SVC_AGENT_ACTION_UNASKED", { action: name });
  const text = JSON.stringify(input, undefined, 2);
  const { id } = await approvals.ask({
    kind: "action",
    title: `${agent} wants to run the action ${name}`,
    detail: text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()}... (${text.length} characters in all)`,
    digest: await approvals.digest({ action: name, input }),
    requestedBy: `agent ${agent}`,
    agent,
    ...(taskId === undefined ? {} : { taskId }),
  });
  try {
    const { state } = await approvals.wait(id, signal);
    if (state !== "approved") throw fail("SVC_AGENT_ACTION_REFUSED", { action: name, state });
  } catch (error) {
    if (signal.aborted) await approvals.withdraw(id, "the call was ended");
    throw error;
  }
}
