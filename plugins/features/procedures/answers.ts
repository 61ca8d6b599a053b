import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };

const facts = {
  id: { type: "string", description: "`deploy`, `ada/deploy` of the workspace of the agent ada, `user/deploy`" },
  source: { type: "string", enum: ["procedures", "workspace", "user"] },
  file: text,
  name: text,
  description: text,
} satisfies Record<string, Schema>;
const state: Schema = { type: "string", enum: ["draft", "in use", "broken", "empty"] };
const more = {
  agents: { ...listOf(text), description: "It is for these alone" },
  cluster: { type: "string", description: "The group of runs that it was learned from" },
  problem: { type: "string", description: "Why it cannot be used" },
} satisfies Record<string, Schema>;

const Procedure = objectOf({ ...facts, state }, { ...more, score: { type: "number", description: "How well it fits the words that were asked about" } });

const ProcedurePass = objectOf({
  runs: { ...count, description: "Runs that were looked at" },
  clusters: { ...count, description: "Groups of runs alike that are large enough" },
  drafts: listOf({ type: "string", description: "The id of a draft" }),
  none: { ...count, description: "Groups that hold no procedure" },
  failed: listOf(objectOf({ agent: text, reason: text })),
});

const listed: RouteAnswer = {
  json: objectOf(
    { procedures: listOf(Procedure) },
    { unread: count, overfull: listOf(objectOf({ folder: text, unread: { ...count, description: "Files beyond those that are read" } })) },
  ),
};
const one: RouteAnswer = { json: objectOf({ procedure: objectOf({ ...facts, state, body: text }, more) }) };
const promoted: RouteAnswer = { json: objectOf({ procedure: objectOf(facts, more) }) };
const rejected: RouteAnswer = { json: objectOf({ id: text, file: { type: "string", description: "Where the draft is kept now" } }) };

export default {
  schemas: { Procedure, ProcedurePass },
  routes: {
    "GET /procedures": [listed],
    "GET /api/procedures": [listed],
    "GET /procedures/one": [one],
    "GET /api/procedures/one": [one],
    "POST /procedures/promote": [promoted],
    "POST /api/procedures/promote": [promoted],
    "POST /procedures/reject": [rejected],
    "POST /api/procedures/reject": [rejected],
    "POST /procedures/extract": [{ json: objectOf({ pass: { anyOf: [ProcedurePass, { type: "null", description: "Another daemon's pass is under way" }] } }) }],
  },
} satisfies Answers;
