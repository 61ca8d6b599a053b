import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const amount: Schema = { type: "number", minimum: 0 };
const date: Schema = { type: "string", format: "date-time" };

const BudgetWindow = objectOf({
  agent: { type: "string", description: "An agent's id, or * for all together" },
  period: { type: "string", enum: ["hour", "day"] },
  from: date,
  to: date,
  turns: count,
  tokens: count,
  money: { ...amount, description: "US dollars" },
  caps: listOf(objectOf({ measure: text, used: amount, cap: amount, setting: text })),
});

const told: readonly RouteAnswer[] = [{ json: objectOf({ budgets: listOf(BudgetWindow) }) }];

const answers: Answers = { schemas: { BudgetWindow }, routes: { "GET /budgets": told, "GET /api/budgets": told } };

export default answers;
