import type { Approval, Approvals } from "@svc/sdk";
import { howOf } from "./words.ts";

/** Longer than this many milliseconds no tool call should take: clients give up at a minute. */
const PATIENCE_MS = 50_000;

/** Implements `svc_approval_wait`: resolves with the decision about the agent's own question, or that it is still pending. Never about another agent's. */
export async function waitForAgent(
  questions: Omit<Approvals, "onDecided">,
  { id, agent, signal }: { readonly id: string | undefined; readonly agent: string; readonly signal: AbortSignal },
): Promise<string> {
  const [newest] = id === undefined ? await questions.list({ agent, limit: 1 }) : [await questions.get(id)];
  if (newest === undefined || newest.agent !== agent) return id === undefined ? "You have asked nothing." : `You have no question '${id}'.`;
  const patience = AbortSignal.timeout(PATIENCE_MS);
  try {
    await questions.wait(newest.id, AbortSignal.any([signal, patience]));
  } catch (error) {
    if (!patience.aborted) throw error;
  }
  return told((await questions.get(newest.id)) ?? newest);
}

function told(question: Approval): string {
  const { id, title, state } = question;
  if (state === "open") return `Question ${id} ('${title}') is still pending. Go on with other work, or ask again with svc_approval_wait.`;
  return `Question ${id} ('${title}'): ${howOf(question)}.`;
}
