import { type Answers, objectOf, type Schema } from "@svc/sdk";

const count: Schema = { type: "integer", minimum: 0 };

const CodeIndexed = objectOf({
  agent: { type: "string" },
  files: { ...count, description: "Files of code looked at" },
  read: { ...count, description: "Of these, the ones that are new or have changed" },
  removed: { ...count, description: "Files that are gone" },
  definitions: count,
  skipped: { ...count, description: "Files of which nothing was read: too large, binary, or unreadable" },
  durationMs: { type: "number", minimum: 0 },
  thread: { ...count, description: "The thread that did it" },
});

const answers: Answers = {
  schemas: { CodeIndexed },
  routes: { "POST /api/agents/:id/code-index": [{ json: CodeIndexed }, { type: "text/event-stream" }] },
};

export default answers;
