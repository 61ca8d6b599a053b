import { codeOf, reasonOf, svcError, type Workflows } from "@svc/sdk";
import type { DeliveryRow } from "./delivery-log.ts";
import type { Payload } from "./payload.ts";
import type { WebhookSettings } from "./settings.ts";

/** The workflow that an event starts, by its type, else the default one. Undefined where the agent works on it. */
export function workflowOf(entry: Pick<WebhookSettings, "triggers" | "defaultWorkflow"> | undefined, event: string | undefined): string | undefined {
  const { triggers = {}, defaultWorkflow } = entry ?? {};
  // The event is the sender's word: `constructor` is no trigger.
  return event !== undefined && Object.hasOwn(triggers, event) ? triggers[event] : defaultWorkflow;
}

type Facts = Pick<DeliveryRow, "webhook" | "source" | "delivery" | "replayOf">;

/**
 * Starts a run, or finds the one that the same delivery has started before. Its input is the body's object, with `webhook` beside its fields: the
 * facts about the delivery. A body that is not an object goes into the field `body`. Throws `SVC_WEBHOOK_WORKFLOW` (422) for a missing or broken
 * workflow, and the errors of `Workflows.start` for an invalid input.
 */
export async function startWorkflow(
  workflows: Pick<Workflows, "start">,
  id: string,
  { webhook, source, delivery, replayOf }: Facts,
  { value, text, event }: Payload,
): Promise<{ readonly runId: string; readonly duplicate?: true }> {
  const fields = typeof value === "object" && value !== null && !Array.isArray(value) ? value : { body: value ?? text ?? null };
  const known = { id: webhook, source, delivery, ...(event === undefined ? {} : { event }), ...(replayOf === undefined ? {} : { replayOf }) };
  const key = `${source}:${delivery}`;
  try {
    return await workflows.start(id, { input: { ...fields, webhook: known }, startKey: key, entry: { kind: "webhook", ref: `${webhook} ${key}` } });
  } catch (error) {
    const code = codeOf(error);
    // To the sender a missing page would mean that the address is wrong.
    if (code !== "SVC_WORKFLOW_UNKNOWN" && code !== "SVC_WORKFLOW_BROKEN") throw error;
    const text = `The webhook '${webhook}' starts the workflow '${id}', which cannot be started: ${reasonOf(error)} Mend it, then: svc webhook replay ${delivery}`;
    throw svcError("SVC_WEBHOOK_WORKFLOW", text, { status: 422, cause: error });
  }
}
