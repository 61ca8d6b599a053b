import type { Schema } from "@svc/sdk";
import type { Ajv, ValidateFunction } from "ajv";

let shared: Promise<Ajv> | undefined;

/** A process whose callers make no mistakes does not pay for ajv. */
function engine(): Promise<Ajv> {
  shared ??= import("ajv").then(({ Ajv }) => {
    const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true, validateFormats: false });
    // Marks for people and for the configuration; they constrain nothing here.
    ajv.addVocabulary(["secret", "restart", "unread"]);
    return ajv;
  });
  return shared;
}

/** Compiles a schema in the one ajv that judges what comes in while the daemon runs. Rejects with ajv's error where it is no usable schema. */
export async function compileStrict(schema: Schema): Promise<ValidateFunction> {
  const ajv = await engine();
  const check = ajv.compile(schema);
  // ajv would remember every schema for ever; plugins come and go.
  ajv.removeSchema(schema);
  return check;
}
