import { reasonOf } from "../errors.ts";
import type { Services } from "../services.ts";
import type { TierEvent, Turn } from "../tier.ts";

/** A call that an engine may not make without a yes. */
export interface PermissionCall {
  /** As the engine calls it. */
  readonly tool: string;
  /** The complete input: the person reads it, and the digest covers it. */
  readonly input: unknown;
}

/** Whether the call may be made this once; `reason` is for the model. */
export interface PermissionAnswer {
  readonly allow: boolean;
  readonly reason: string;
}

/** Where a turn's questions go. */
export interface PermissionAsking {
  readonly services: Pick<Services, "get">;
  readonly turn: Pick<Turn, "id" | "agent" | "messages">;
  /** Aborts at the end of the run: open questions are then refused and withdrawn. */
  readonly signal: AbortSignal;
  /** Emits into the tier's stream: that the run waits, and the decision. */
  tell(event: TierEvent): void;
}

/**
 * Returns a function that asks people about calls that the agent's permission mode leaves open, where the agent's `permissionQuestions` is `ask`;
 * undefined otherwise (the default) and in runs of restricted autonomy. The answer is no unless a person approves this very call in time. Never
 * rejects.
 */
export function permissionQuestions({ services, turn, signal, tell }: PermissionAsking): ((call: PermissionCall) => Promise<PermissionAnswer>) | undefined {
  const { id: taskId, agent, messages } = turn;
  if (agent.settings.permissionQuestions !== "ask" || (messages[0].options?.autonomy ?? "act") !== "act") return undefined;

  /** Open questions of the run; calls may be asked about concurrently. */
  const open = new Map<string, Extract<TierEvent, { type: "waiting" }>>();

  async function ask({ tool, input }: PermissionCall): Promise<PermissionAnswer> {
    const approvals = services.get("approvals");
    if (approvals === undefined) return { allow: false, reason: "Nobody can be asked: no plugin serves approvals. Go on without it." };
    const digest = await approvals.digest({ agent: agent.id, workspace: agent.workspace, tool, input });
    const { id } = await approvals.ask({
      kind: "permission",
      title: `agent ${agent.id} wants to use ${tool}`,
      detail: JSON.stringify({ tool, input, workspace: agent.workspace }, null, 2),
      digest,
      requestedBy: `agent ${agent.id}`,
      agent: agent.id,
      taskId,
      choices: [
        { id: "allow", label: "Allow this once" },
        { id: "deny", label: "Deny", rejects: true },
      ],
    });
    try {
      const { expiresAt = Date.now() } = (await approvals.get(id)) ?? {};
      const waiting = {
        type: "waiting",
        reason: `a person is asked about ${tool} (question ${id})`,
        retryAfterMs: Math.max(0, expiresAt - Date.now()),
        person: true,
      } as const;
      open.set(id, waiting);
      tell(waiting);
      const decision = await approvals.wait(id, signal);
      const allow = decision.state === "approved" && decision.digest === digest;
      const who = decision.by === undefined ? "nobody answered in time" : `${decision.state} by ${decision.by} on ${decision.surface}`;
      tell({ type: "step", step: { id: `question ${id}`, name: "permission", phase: "end", input: tool, ...(allow ? { output: who } : { error: who }) } });
      open.delete(id);
      for (const other of [...open.values()].slice(0, 1)) tell(other);
      if (allow) return { allow, reason: "" };
      const refused =
        decision.by === undefined ? "Nobody answered the question about this call in time." : "A person was asked about this call and refused it.";
      return { allow, reason: `${refused} Do not try it in another way: go on without it, or say in your answer that it is needed.` };
    } catch (error) {
      open.delete(id);
      await approvals.withdraw(id, "its run was stopped");
      throw error;
    }
  }

  return async (call) => {
    try {
      return await ask(call);
    } catch (error) {
      return { allow: false, reason: `Nobody could be asked about this call: ${reasonOf(error)}` };
    }
  };
}
