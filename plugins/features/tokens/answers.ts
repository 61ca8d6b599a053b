import { type Answers, listOf, objectOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const date: Schema = { type: "string", format: "date-time" };

const fields = {
  id: text,
  name: text,
  scope: listOf(text),
  prefix: { type: "string", description: "The visible start of the secret" },
  createdAt: date,
  status: { type: "string", enum: ["active", "expired", "revoked"] },
} satisfies Record<string, Schema>;
const times = { expiresAt: date, revokedAt: date, lastUsedAt: date };

const Token = objectOf(fields, times);

const NewToken = objectOf(
  { ...fields, secret: { type: "string", description: "Told in this one answer" } },
  { ...times, damaged: { type: "string", description: "The copy of a damaged file of tokens, whose tokens are gone" } },
);

const Scope = objectOf({ name: text }, { summary: text, includes: listOf(text) });

const answers: Answers = {
  schemas: { NewToken, Scope, Token },
  routes: {
    "GET /api/admin/tokens": [{ json: objectOf({ tokens: listOf(Token), scopes: listOf(Scope) }) }],
    "POST /api/admin/tokens": [{ status: 201, json: NewToken }],
    "POST /api/admin/tokens/:id/revoke": [{ json: Token }],
  },
};

export default answers;
