import type { Schema, TaskResult } from "@svc/sdk";

/** The agent's verdict on a batch. */
export interface Verdict {
  /** `ignore`: nothing follows. `notify`: the operator is told. `reply`: an answer is proposed. */
  readonly action: "ignore" | "notify" | "reply";
  /** One line for the operator. */
  readonly summary: string;
  /** The words of the answer, exactly as they would be sent. */
  readonly reply?: string;
}

/** Schema of the agent's answer. */
export const VERDICT: Schema = {
  type: "object",
  additionalProperties: false,
  required: ["action", "summary"],
  properties: {
    action: { type: "string", enum: ["ignore", "notify", "reply"], description: "ignore: nothing to do; notify: tell the owner; reply: propose an answer" },
    summary: { type: "string", minLength: 1, maxLength: 500, description: "one line for the owner: who wants what" },
    reply: { type: "string", maxLength: 4_000, description: "with reply: the answer, word for word" },
  },
};

/** Reads the result of the agent's run. The kernel has checked its shape, but a proposed answer may be empty. */
export function verdictOf(result: TaskResult): Verdict | { readonly failed: string } {
  if (!result.ok) return { failed: result.error ?? "the run failed" };
  const verdict = (result.output ?? parse(result.reply)) as Verdict | undefined;
  if (verdict === undefined || typeof verdict.summary !== "string") return { failed: "the agent's answer has no verdict" };
  if (verdict.action === "reply" && (verdict.reply ?? "").trim() === "") return { ...verdict, action: "notify" };
  return verdict;
}

function parse(reply: string): unknown {
  try {
    return JSON.parse(reply);
  } catch {
    return undefined;
  }
}
