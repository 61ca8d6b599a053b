import { type Answers, listOf, objectOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const guard: Schema = { type: "string", enum: ["wall", "narrow"], description: "What holds the run: the operating system, or the reading of its commands" };

const GuardDecision = objectOf({ decision: { type: "string", enum: ["allow", "deny"] }, reason: text }, { guard });

const GuardRefusal = objectOf(
  {
    at: { type: "integer", description: "Unix time in milliseconds" },
    agent: text,
    autonomy: { type: "string", enum: ["report", "propose"] },
    tool: text,
    reason: text,
  },
  { taskId: text, guard },
);

const answers: Answers = {
  schemas: { GuardDecision, GuardRefusal },
  routes: {
    "POST /guard/check": [{ json: GuardDecision }],
    "GET /guard/log": [{ json: objectOf({ entries: listOf(GuardRefusal) }) }],
  },
};

export default answers;
