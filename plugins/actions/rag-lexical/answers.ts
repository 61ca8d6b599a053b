import { type Answers, objectOf, type Schema } from "@svc/sdk";

const count: Schema = { type: "integer", minimum: 0 };

const Indexed = objectOf({
  agent: { type: "string" },
  files: { ...count, description: "Files looked at" },
  read: { ...count, description: "Of these, the ones that are new or have changed" },
  removed: count,
  pieces: { ...count, description: "Places that can be found" },
  durationMs: { type: "number", minimum: 0 },
});

const answers: Answers = {
  schemas: { Indexed },
  routes: { "POST /api/agents/:id/index": [{ json: Indexed }, { type: "text/event-stream" }] },
};

export default answers;
