import { randomUUID } from "node:crypto";
import { type Delivery, reasonOf, type Schema } from "@svc/sdk";
import { isPromise } from "../../base/promise.ts";
import type { LiveHooks } from "../host/hooks.ts";
import type { Deliveries } from "./deliveries-port.ts";
import type { TaskRecord } from "./record.ts";
import type { Outcome } from "./run-facts.ts";
import { readOutput } from "./typed-output.ts";
import { failureText } from "./words.ts";

/** Outcome of a task, and the delivery of its answer. */
export interface AnswerDelivery {
  readonly outcome: Outcome;
  /** Sent at once, or withheld if `held` holds a tap's reason. */
  readonly delivery?: Delivery;
  /** A required tap failed: it has not checked the delivery. */
  readonly unjudged?: boolean;
}

/**
 * Turns an outcome into a delivery. The `deliver` hook sees every answer, also those that go back over HTTP, and may rewrite or withhold it; a
 * required tap that fails withholds it too. On a channel, a failure becomes a notice to the sender.
 */
export async function answerOf(record: TaskRecord, hooks: LiveHooks, outcome: Outcome, deliveries: Pick<Deliveries, "reaches">): Promise<AnswerDelivery> {
  const { route, silent = false } = record;
  if (route === undefined) return { outcome };
  const ok = outcome.status === "ok";
  const reaches = deliveries.reaches(route.reply);
  const text = ok || !reaches ? outcome.reply : failureText(outcome, record);
  if (text === "" && !ok) return { outcome };
  const draft: Delivery = { id: `out_${randomUUID()}`, kind: ok ? "reply" : "notice", target: route.reply, text, taskId: record.id, agent: record.agent };
  let unjudged = false;
  let delivery: Delivery;
  try {
    const judging = hooks.deliver(draft);
    delivery = isPromise(judging) ? await judging : judging;
  } catch (error) {
    unjudged = true;
    delivery = { ...draft, held: reasonOf(error) };
  }
  const goes = silent || (delivery.held === undefined && !reaches) ? {} : { delivery, unjudged };
  if (!ok) return { outcome, ...goes };
  const { id, held: error } = delivery;
  if (error === undefined) return { outcome: judged({ ...outcome, reply: delivery.text }, delivery.text !== text && record.inbound.options?.output), ...goes };
  return { outcome: { ...outcome, status: "error", reply: delivery.text, error, errorKind: "held", ...(silent ? {} : { withheld: id }) }, ...goes };
}

/** Reads the value again from an answer that a tap has rewritten. */
function judged(outcome: Outcome, changed: Schema | false | undefined): Outcome {
  if (!changed) return outcome;
  const { output: _before, ...rest } = outcome;
  const read = readOutput(changed, outcome.reply);
  if ("output" in read) return { ...rest, output: read.output };
  return { ...rest, status: "error", error: `The answer as the deliver taps left it does not fit options.output: ${read.finding}.`, errorKind: "output" };
}
