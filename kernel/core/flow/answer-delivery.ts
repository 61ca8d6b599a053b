import { randomUUID } from "node:crypto";
import { type Delivery, reasonOf, type Schema } from "@svc/sdk";
import type { LiveHooks } from "../host/hooks.ts";
import type { Deliveries } from "./deliveries-port.ts";
import type { TaskRecord } from "./record.ts";
import type { Outcome } from "./run-facts.ts";
import { readOutput } from "./typed-output.ts";
import { failureText } from "./words.ts";

/** What a task ends with, and what goes out of it. */
export interface AnswerDelivery {
  readonly outcome: Outcome;
  /** Goes out, or is kept where `held` says why a tap withholds it. */
  readonly delivery?: Delivery;
  /** A required tap failed: it has not judged the delivery. */
  readonly unjudged?: boolean;
}

/**
 * Turn an outcome into what goes out. The `deliver` hook sees every answer, also those that go back over HTTP, and may rewrite
 * or withhold it; a required tap that fails withholds it too. On a channel, a failure becomes a notice to the sender.
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
  const delivery = await (async () => hooks.deliver(draft))().catch((error): Delivery => {
    unjudged = true;
    return { ...draft, held: reasonOf(error) };
  });
  const goes = silent || (delivery.held === undefined && !reaches) ? {} : { delivery, unjudged };
  if (!ok) return { outcome, ...goes };
  const { id, held: error } = delivery;
  if (error === undefined) return { outcome: judged({ ...outcome, reply: delivery.text }, delivery.text !== text && record.inbound.options?.output), ...goes };
  return { outcome: { ...outcome, status: "error", reply: delivery.text, error, errorKind: "held", ...(silent ? {} : { withheld: id }) }, ...goes };
}

/** What a tap has changed in an answer, it has changed in its value too. */
function judged(outcome: Outcome, changed: Schema | false | undefined): Outcome {
  if (!changed) return outcome;
  const { output: _before, ...rest } = outcome;
  const read = readOutput(changed, outcome.reply);
  if ("output" in read) return { ...rest, output: read.output };
  return { ...rest, status: "error", error: `The answer as the deliver taps left it does not fit options.output: ${read.finding}.`, errorKind: "output" };
}
