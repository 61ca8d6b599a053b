import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const yes: Schema = { const: true };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const state: Schema = { type: "string", enum: ["unknown", "up", "down", "refused"] };

const PeerTaskResult = objectOf(
  {
    ok: flag,
    taskId: text,
    agent: text,
    reply: text,
    status: { type: "string", enum: ["ok", "error", "timeout"] },
    durationMs: { type: "number", minimum: 0 },
  },
  {
    error: text,
    errorKind: text,
    exitCode: { type: "integer" },
    usage: objectOf({ input: count, output: count }, { cacheRead: count, cacheCreate: count, cost: { type: "number" } }),
    model: text,
    sessionId: text,
    output: {},
    withheld: text,
  },
);

const PeerHealth = objectOf({ state }, { at: time, reason: text, agents: listOf(text) });

const Peer = objectOf({ name: text, url: text, state }, { at: time, reason: text, agents: listOf(text) });

const list: readonly RouteAnswer[] = [{ json: objectOf({ peers: listOf(Peer), found: listOf(objectOf({ name: text, url: text })) }) }];
const announced: readonly RouteAnswer[] = [{ json: objectOf({ ok: yes, id: text }) }];

const answers: Answers = {
  schemas: { Peer, PeerHealth, PeerTaskResult },
  routes: {
    "POST /mesh/task": [{ json: PeerTaskResult }, { type: "text/event-stream" }, { status: 202, json: objectOf({ ok: yes, taskId: text }) }],
    "POST /mesh/task/cancel": [{ json: objectOf({ cancelled: flag }) }],
    "POST /mesh/announce": announced,
    "POST /api/admin/mesh/announce": announced,
    "GET /mesh/node": [{ json: objectOf({ id: text, name: text }) }],
    "GET /mesh/peers": list,
    "GET /api/admin/mesh/peers": list,
    "POST /mesh/peers/:name/test": [{ json: PeerHealth }],
    "POST /api/admin/mesh/peers/:name/test": [{ json: PeerHealth }],
  },
};

export default answers;
