import { type Answers, listOf, objectOf, recordOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const texts = listOf(text);

const Subscription = objectOf(
  {},
  {
    kinds: texts,
    agents: texts,
    nodes: texts,
    match: text,
    delivery: { type: "string", enum: ["pull", "digest", "wake"] },
    maxPerHour: { type: "integer", minimum: 0 },
  },
);

const HeardEvent = objectOf(
  { id: text, rootId: text, node: text, kind: text, type: text, at: { type: "string", format: "date-time" }, summary: text },
  { parentId: text, agentId: text, ref: text, text, data: recordOf(true), source: text },
);

const answers: Answers = {
  schemas: { HeardEvent, Subscription },
  routes: {
    "GET /agents/:id/events": [
      {
        json: objectOf(
          { agentId: text, subscriptions: listOf(Subscription), events: listOf(HeardEvent), next: { type: ["string", "null"] } },
          { gap: { const: true } },
        ),
      },
    ],
  },
};

export default answers;
