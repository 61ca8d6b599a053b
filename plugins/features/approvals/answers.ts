import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };

const ApprovalDecision = objectOf(
  { id: text, kind: text, digest: text, state: { type: "string", enum: ["approved", "rejected", "expired", "withdrawn"] }, at: time },
  { key: text, choice: text, by: text, surface: text, reason: text },
);

const Approval = objectOf(
  {
    id: text,
    kind: text,
    title: text,
    digest: text,
    choices: listOf(objectOf({ id: text, label: text }, { rejects: { const: true } })),
    requestedBy: text,
    askedAt: time,
    expiresAt: time,
    state: { type: "string", enum: ["open", "approved", "rejected", "expired", "withdrawn"] },
  },
  {
    detail: text,
    agent: text,
    taskId: text,
    destination: objectOf({ channel: text, chat: text }, { account: text }),
    key: text,
    laterAt: time,
    decision: ApprovalDecision,
  },
);

const at = (base: string): Record<string, readonly RouteAnswer[]> => ({
  [`GET ${base}`]: [{ json: objectOf({ approvals: listOf(Approval) }, { next: text }) }],
  [`GET ${base}/:id`]: [{ json: objectOf({ approval: Approval }) }],
  [`POST ${base}/:id/approve`]: [{ json: objectOf({ decision: ApprovalDecision }) }],
  [`POST ${base}/:id/reject`]: [{ json: objectOf({ decision: ApprovalDecision }) }],
  [`POST ${base}/:id/later`]: [{ json: objectOf({ approval: Approval }) }],
});

const answers: Answers = { schemas: { Approval, ApprovalDecision }, routes: { ...at("/approvals"), ...at("/api/approvals") } };

export default answers;
