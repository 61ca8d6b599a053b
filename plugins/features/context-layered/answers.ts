import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const yes: Schema = { const: true };

const Reference = objectOf(
  { name: text, at: text, state: { type: "string", enum: ["verified", "recorded", "unverified", "unchecked"] } },
  { note: text, verified: text, sha256: text, failed: text, reason: text },
);

const MemoryFiles = objectOf(
  { files: listOf(objectOf({ file: text, size: count, changedAt: { type: "string", format: "date-time" } })) },
  { more: { const: true, description: "There are others" } },
);

const MemoryText = objectOf(
  { file: text, text, size: count, redacted: { ...count, description: "How many credentials were left out" }, tag: text },
  { cut: yes, path: { type: "string", description: "Where it lies, for callers of the same machine" } },
);

const references: readonly RouteAnswer[] = [{ json: objectOf({ references: listOf(Reference) }) }];
const memory: readonly RouteAnswer[] = [{ json: { anyOf: [MemoryFiles, MemoryText] } }];

const answers: Answers = {
  schemas: { MemoryFiles, MemoryText, Reference },
  routes: {
    "GET /agents/:id/references": references,
    "POST /agents/:id/references": [{ json: objectOf({ reference: Reference }) }],
    "POST /agents/:id/references/verify": references,
    "POST /agents/:id/references/remove": [{ json: objectOf({ removed: yes }) }],
    "GET /agents/:id/memory": memory,
    "PUT /agents/:id/memory": [{ json: objectOf({ file: text }) }],
    "DELETE /agents/:id/memory": [{ json: objectOf({ file: text, removed: yes }) }],
    "GET /api/agents/:id/memory": memory,
  },
};

export default answers;
