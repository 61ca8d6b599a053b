import { reasonOf, type Schema, type TurnContext } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { jsonIn } from "../../base/json-in.ts";
import { schemaCheck } from "../../base/schema/schema-check.ts";

/** Length to which an answer is truncated when the engine is retried without its session. */
const ANSWER_CHARACTERS = 16_000;

/** Result of reading a typed answer: the value, or a description of the error, for the engine and for people. */
export type ReadOutput = { readonly output: unknown } | { readonly finding: string };

const demand = (schema: Schema): string =>
  `Answer with JSON only, without any text before or after it, that fits this JSON schema and has no keys that it does not name:\n${JSON.stringify(schema)}`;

/** The prompt of a turn whose answer has a schema. */
export const typedPrompt = (prompt: string, schema: Schema): string => `${prompt}\n\n${demand(schema)}`;

/** Throws `SVC_OUTPUT_SCHEMA` for a schema that does not compile. */
export function requireSchema(schema: Schema): void {
  try {
    schemaCheck(schema, "body").fits(null);
  } catch (error) {
    throw fail("SVC_OUTPUT_SCHEMA", { reason: reasonOf(error).split("\n")[0] });
  }
}

/** Parses an answer: plain JSON, in a fence, or surrounded by text. */
export function readOutput(schema: Schema, answer: string): ReadOutput {
  const output = jsonIn(answer);
  if (output === undefined) return { finding: "it is no JSON" };
  const check = schemaCheck(schema, "body");
  if (check.fits(output)) return { output };
  const { instancePath = "", message = "has the wrong shape", params = {} } = check.errors(output)[0] ?? {};
  const key = (params as { additionalProperty?: string }).additionalProperty;
  return { finding: `${instancePath === "" ? "it" : instancePath.slice(1).replaceAll("/", ".")} ${message}${key === undefined ? "" : ` ('${key}')`}` };
}

/** Returns the context of the correction: a session knows the rest; without one the answer is included. */
export function correction(context: TurnContext, schema: Schema, answer: string, finding: string, session: string | undefined): TurnContext {
  const again = `That answer cannot be used: ${finding}. ${demand(schema)}`;
  if (session !== undefined) return { ...context, session, prompt: again, media: [] };
  return { ...context, prompt: `${context.prompt}\n\nYou have answered:\n${answer.slice(0, ANSWER_CHARACTERS)}\n\n${again}` };
}
