import { randomUUID } from "node:crypto";
import { type Delivery, reasonOf } from "@svc/sdk";
import type { LiveHooks } from "../host/hooks.ts";
import type { Deliveries } from "./deliver/deliveries-port.ts";
import type { TaskRecord } from "./record.ts";
import type { Outcome } from "./run-facts.ts";
import { failureText } from "./words.ts";

/** What a task ends with, and what is sent of it. */
export interface Answer {
  readonly delivery?: Delivery;
  readonly outcome: Outcome;
}

/**
 * Turn an outcome into what goes out. The `deliver` hook sees every answer, also those that go back over HTTP, and may rewrite
 * or hold it; a required tap that fails holds it too. On a channel, a failure becomes a notice to the sender.
 */
export async function answerOf(record: TaskRecord, hooks: LiveHooks, outcome: Outcome, deliveries: Pick<Deliveries, "reaches">): Promise<Answer> {
  const { route } = record;
  if (route === undefined) return { outcome };
  const ok = outcome.status === "ok";
  const text = ok || !deliveries.reaches(route.reply) ? outcome.reply : failureText(outcome, record);
  if (text === "" && !ok) return { outcome };
  const held = (reason: string): Outcome => ({ ...outcome, status: "error", reply: "", error: reason, errorKind: "held" });
  const draft: Delivery = { id: `out_${randomUUID()}`, kind: ok ? "reply" : "notice", target: route.reply, text, taskId: record.id, agent: record.agent };
  try {
    const delivery = await hooks.deliver(draft);
    if (delivery.held !== undefined) return { delivery, outcome: held(delivery.held) };
    return { delivery, outcome: ok ? { ...outcome, reply: delivery.text } : outcome };
  } catch (error) {
    return { outcome: held(reasonOf(error)) };
  }
}
