import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const part: Schema = { type: "number", minimum: 0, maximum: 1 };
const change: Schema = { type: "string", enum: ["add", "edit", "remove"] };

const GraphNode = objectOf(
  { id: text, title: text, links: listOf({ type: "string", description: "The id of a node that it has to do with" }), keywords: listOf(text), text },
  { parent: { type: "string", description: "The id of the node that it is a part of; a root has none" } },
);

const GraphChange = objectOf(
  { change, node: GraphNode, confidence: { ...part, description: "As its author says" } },
  {
    by: { type: "string", description: "The agent that proposed it" },
    reason: text,
    review: { type: "string", description: "What the reviewing agent said" },
  },
);

const GraphHit = objectOf({
  node: GraphNode,
  score: { type: "number", description: "The weighted sum of the other two" },
  bm25: { ...part, description: "By the words of the request" },
  graph: { ...part, description: "By the nodes near it that the request fits" },
});

const GraphDraft = objectOf(
  { id: text, file: text, digest: { type: "string", description: "Stands for the content of the file" } },
  { change: GraphChange, problem: { type: "string", description: "Why the file holds no change" } },
);

const Drafted = objectOf(
  { change, node: text, outcome: { type: "string", enum: ["applied", "reviewed", "draft", "dropped"] } },
  { draft: { type: "string", description: "The id of the draft that waits for a person" }, reason: text },
);

const list: RouteAnswer = {
  json: objectOf({ nodes: listOf(GraphNode), broken: listOf(objectOf({ file: text, problem: text })) }, { hits: listOf(GraphHit) }),
};
const one: RouteAnswer = { json: objectOf({ node: GraphNode }) };
const drafts: RouteAnswer = { json: objectOf({ drafts: listOf(GraphDraft) }) };

export default {
  schemas: { GraphNode, GraphChange, GraphHit, GraphDraft, GraphDrafted: Drafted },
  routes: {
    "GET /graph": [list],
    "GET /api/graph": [list],
    "GET /graph/nodes/:id": [one],
    "GET /api/graph/nodes/:id": [one],
    "GET /graph/drafts": [drafts],
    "GET /api/graph/drafts": [drafts],
    "POST /graph/draft": [{ json: objectOf({ drafted: listOf(Drafted) }) }],
    "POST /graph/drafts/:id/promote": [{ json: objectOf({ change: GraphChange }) }],
    "POST /graph/drafts/:id/reject": [{ json: objectOf({ id: text, file: { type: "string", description: "Where the draft is kept now" } }) }],
  },
} satisfies Answers;
