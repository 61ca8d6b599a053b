import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const texts = listOf(text);

const found = {
  forge: text,
  lists: { ...count, description: "Lists that were read" },
  looked: { ...count, description: "Notes on them" },
  taken: { ...count, description: "Of these, the ones that were not seen before" },
  failed: { ...texts, description: "Lists that could not be read, each with the reason" },
};

const ForgeBackfill = objectOf(found);

const ForgeStatus = objectOf(
  {
    name: text,
    origin: text,
    path: { type: "string", description: "Where it sends its webhooks" },
    secret: { type: "string", enum: ["set", "missing"] },
    agents: listOf(objectOf({ agent: text, shared: flag, comments: flag }, { login: text })),
    waiting: { ...count, description: "Deliveries of all forges that nothing was decided about yet" },
    runs: listOf(objectOf({ where: text, url: text, asker: text })),
  },
  { looked: objectOf({ ...found, at: time }) },
);

const ForgeDecision = objectOf(
  { at: time, forge: text, url: text, via: { type: "string", enum: ["hook", "backfill"] }, agents: { ...texts, description: "The agents that it started" } },
  { reason: { type: "string", description: "Why it started none" } },
);

const ForgeAction = objectOf(
  {
    at: time,
    forge: text,
    agent: text,
    askedBy: text,
    project: text,
    act: text,
    note: text,
    said: { type: "string", description: "What the agent was answered" },
  },
  { task: text },
);

/** 204 for a delivery that says nothing of interest. Forges read the status alone. */
const received: readonly RouteAnswer[] = [{ status: 202, json: objectOf({ accepted: count }) }, { status: 204 }];

const answers: Answers = {
  schemas: { ForgeAction, ForgeBackfill, ForgeDecision, ForgeStatus },
  routes: {
    "GET /forges": [{ json: objectOf({ forges: listOf(ForgeStatus), decisions: listOf(ForgeDecision), actions: listOf(ForgeAction) }) }],
    "POST /forges/:name/backfill": [{ json: ForgeBackfill }],
    "POST /webhook/forge_a": received,
    "POST /webhook/forge_b": received,
  },
};

export default answers;
