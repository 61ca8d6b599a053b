import { type Answers, listOf, objectOf, type RouteAnswer, recordOf, type Schema } from "@svc/sdk";
import { RESULT } from "./result.ts";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const amount: Schema = { type: "number", minimum: 0 };
const any: Schema = {};

const fields = { name: text, description: text, input: recordOf(true), output: recordOf(true), timeoutMs: amount };
const traits = { unusable: text, restricted: { const: true }, repeatable: { const: true } } satisfies Record<string, Schema>;

const Action = objectOf(fields, traits);

const AdminAction = objectOf({ ...fields, own: { type: "boolean", description: "The operator defined it" } }, traits);

const ActionResult = objectOf(
  { action: text, status: { type: "string", enum: ["ok", "error"] }, input: any, durationMs: amount },
  { output: any, error: text },
);

const OperatorAction = objectOf({
  id: text,
  title: text,
  kind: { type: "string", enum: ["shell", "http"] },
  inputs: listOf(objectOf({ name: text, type: { type: "string", enum: ["string", "number", "boolean"] }, required: flag }, { defaultValue: any })),
  timeoutMs: amount,
});

const ActionFileError = objectOf({ file: text, error: text });

const run: readonly RouteAnswer[] = [{ json: ActionResult }];

const answers: Answers = {
  schemas: { Action, ActionFileError, ActionResult, AdminAction, OperatorAction, OperatorActionResult: RESULT },
  routes: {
    "GET /api/actions/builtin": [{ json: objectOf({ actions: listOf(Action) }) }],
    "POST /api/actions/builtin/:name": run,
    "GET /api/actions": [{ json: objectOf({ actions: listOf(OperatorAction), errors: listOf(ActionFileError) }) }],
    "POST /api/actions/:id/run": [{ json: RESULT }],
    "GET /api/admin/actions": [{ json: objectOf({ actions: listOf(AdminAction), errors: listOf(ActionFileError) }) }],
    "POST /api/admin/actions/:name/run": run,
  },
};

export default answers;
