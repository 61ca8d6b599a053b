import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };

const Presence = objectOf(
  { agent: text, color: text, initial: text, label: text, allowActions: { type: "boolean" } },
  { mode: { type: "string", enum: ["teach", "act"] }, note: text, at: { type: "integer", description: "Unix time in milliseconds" } },
);

const told: readonly RouteAnswer[] = [{ json: objectOf({ presence: listOf(Presence) }) }];

const answers: Answers = { schemas: { Presence }, routes: { "GET /presence": told, "GET /api/presence": told } };

export default answers;
