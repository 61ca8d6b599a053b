import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const mode: Schema = { type: "string", enum: ["off", "shadow", "authoritative"] };

const fields = { project: text, subject: text, agent: text, since: time, at: time, turns: count, version: count };
const more = { root: text, task: text, other: objectOf({ agent: text, task: text, at: time, times: count }), assignedBy: text };

const LedgerEntry = objectOf(fields, more);
const LedgerRow = objectOf({ id: text, ...fields }, more);

const one = objectOf({ mode, entry: LedgerEntry });
const read: readonly RouteAnswer[] = [{ json: { anyOf: [one, objectOf({ mode, entries: listOf(LedgerRow) })] } }];

const answers: Answers = {
  schemas: { LedgerEntry, LedgerRow },
  routes: {
    "GET /ledger": read,
    "GET /api/ledger": read,
    "POST /ledger/assign": [{ json: one }],
    "POST /ledger/release": [{ json: objectOf({ mode, released: { type: "boolean" } }) }],
  },
};

export default answers;
