import { type HttpRequest, type Message, type PluginContext, reasonOf, svcError } from "@svc/sdk";
import type { DeliveryLog, DeliveryRow } from "./delivery-log.ts";
import { isPeer } from "./forwarding.ts";
import { deliveryOf, type Payload, payloadOf } from "./payload.ts";
import { authenticate, isUnsigned, type TargetFacts, type WebhookTarget } from "./target.ts";
import { type Told, wordsOf } from "./words.ts";
import { startWorkflow, workflowOf } from "./workflow.ts";

/** Bytes of a body whose sender has proved nothing. */
export const OPEN_BYTES = 1_048_576;

/** Answer to the sender: the agent's task, or the run of a workflow. */
export interface Receipt {
  readonly accepted: true;
  readonly taskId?: string;
  readonly runId?: string;
  /** The delivery is a duplicate; the task or run is the first one's. */
  readonly duplicate?: true;
}

/** Dependencies of receiving: the plugin's context, the entries, and the log of deliveries. */
export interface Reception {
  readonly ctx: Pick<PluginContext, "tasks" | "log" | "agents" | "services">;
  readonly facts: TargetFacts;
  readonly log: DeliveryLog;
}

/** A request as far as it counts here. */
export type Incoming = Pick<HttpRequest, "raw" | "headers">;

/** A delivery that is worked on again. */
export interface Replay {
  /** Its id in the log. */
  readonly of: string;
  /** When it came in, in Unix milliseconds. */
  readonly at: number;
}

/** Takes one delivery in: proof, body, commit. Throws 400, 401, 404, 413, 422 and 501. */
export async function receive(target: WebhookTarget, request: Incoming, reception: Reception, replay?: Replay): Promise<Receipt> {
  const { ctx, facts, log } = reception;
  const entry = await authenticate(target, request, facts);
  const bytes = request.raw?.length ?? 0;
  if (isUnsigned(target)) requireSmall(bytes);
  const source = entry?.source ?? target.source ?? "local";
  const delivery = await deliveryOf(request);
  const row = {
    at: Date.now(),
    webhook: entry?.id ?? `/${target.agentId}`,
    agent: target.agentId,
    source,
    delivery,
    bytes,
    ...(replay === undefined ? {} : { replayOf: replay.of }),
  };
  const note = (rest: Pick<DeliveryRow, "state" | "event" | "taskId" | "runId" | "workflow" | "error" | "bodyAt">) => log.add({ ...row, ...rest }, request);
  try {
    const { node } = entry ?? {};
    if (node !== undefined && !isPeer(node, ctx))
      throw svcError(
        "SVC_WEBHOOK_NODE",
        `The webhook '${row.webhook}' is to be forwarded to '${node}', which no running plugin reaches; see mesh.enabled and mesh.peers.`,
        {
          status: 501,
        },
      );
    const payload = payloadOf(request);
    const event = payload.event === undefined ? {} : { event: payload.event };
    // A node forwards before anything is chosen here (HOOK-05).
    const workflow = node === undefined ? workflowOf(entry, payload.event) : undefined;
    const workflows = workflow === undefined ? undefined : ctx.services.get("workflows");
    if (workflow !== undefined && workflows !== undefined) {
      const { runId, duplicate } = await startWorkflow(workflows, workflow, row, payload);
      note({ state: duplicate ? "duplicate" : "accepted", runId, workflow, ...event });
      return { accepted: true, runId, ...(duplicate ? { duplicate } : {}) };
    }
    // Without a plugin that runs workflows the agent works on it (HOOK-05).
    if (node === undefined) requireAgent(target, ctx);
    const words = wordsOf({ source, description: entry?.description, replayOf: replay && new Date(replay.at).toISOString() } satisfies Told, payload);
    const { taskId, duplicate } = await ctx.tasks.accept(messageOf(row, words.text, payload));
    note({ state: duplicate ? "duplicate" : "accepted", taskId, ...event, ...(words.bodyAt === undefined ? {} : { bodyAt: words.bodyAt }) });
    return { accepted: true, taskId, ...(duplicate ? { duplicate } : {}) };
  } catch (error) {
    note({ state: "refused", error: reasonOf(error) });
    throw error;
  }
}

/** For those who prove nothing the limit is that of callers who are known. Throws 413. */
export function requireSmall(bytes: number): void {
  if (bytes > OPEN_BYTES)
    throw svcError("SVC_WEBHOOK_LARGE", `Without a secret a webhook takes ${OPEN_BYTES} bytes; name one in its secretEnv for larger bodies.`, { status: 413 });
}

function requireAgent({ agentId }: WebhookTarget, { agents }: Pick<PluginContext, "agents">): void {
  if (agents.get(agentId) === undefined)
    throw svcError("SVC_WEBHOOK_AGENT", `The webhook's agent '${agentId}' does not exist; see webhooks[].agentId in svc.json.`, { status: 404 });
}

type Facts = Pick<DeliveryRow, "webhook" | "agent" | "source" | "delivery" | "replayOf">;

function messageOf({ webhook, agent, source, delivery, replayOf }: Facts, text: string, { event }: Payload): Message {
  return {
    entry: "webhook",
    channel: "webhook",
    chat: webhook,
    agent,
    sender: { id: source },
    text,
    dedupKey: `webhook:${agent}:${source}:${delivery}`,
    facts: { webhook, source, ...(event === undefined ? {} : { event }), ...(replayOf === undefined ? {} : { replayOf }) },
  };
}
