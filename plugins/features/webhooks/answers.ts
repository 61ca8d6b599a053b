import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };

const Webhook = objectOf(
  { id: text, path: text, agent: text, source: text, enabled: { type: "boolean" }, secret: { type: "string", enum: ["none", "set", "missing"] } },
  { last: objectOf({ at: time, state: text }) },
);

const WebhookDelivery = objectOf(
  {
    at: time,
    webhook: text,
    agent: text,
    source: text,
    state: { type: "string", enum: ["accepted", "duplicate", "refused"] },
    delivery: { type: "string", description: "The sender's id (id:...), or the digest of the bytes (sha256:...)" },
    bytes: count,
  },
  { event: text, taskId: text, runId: text, workflow: text, bodyAt: count, replayOf: text, error: text },
);

const WebhookReceipt = objectOf({ accepted: { const: true } }, { taskId: text, runId: text, duplicate: { const: true } });

const list: readonly RouteAnswer[] = [{ json: objectOf({ webhooks: listOf(Webhook) }) }];
const deliveries: readonly RouteAnswer[] = [{ json: objectOf({ webhook: Webhook, deliveries: listOf(WebhookDelivery) }) }];
const accepted: readonly RouteAnswer[] = [{ status: 202, json: WebhookReceipt }];
const received: readonly RouteAnswer[] = [...accepted, { status: 200, json: WebhookReceipt }];

const answers: Answers = {
  schemas: { Webhook, WebhookDelivery, WebhookReceipt },
  routes: {
    "POST /webhook/:agentId": received,
    "POST /webhook/:agentId/:source": received,
    "GET /webhooks": list,
    "GET /webhooks/:id/deliveries": deliveries,
    "POST /webhooks/:id/test": accepted,
    "POST /webhooks/replay": accepted,
    "GET /api/admin/webhooks": list,
    "GET /api/admin/webhooks/:id/deliveries": deliveries,
    "POST /api/admin/webhooks/:id/test": accepted,
  },
};

export default answers;
