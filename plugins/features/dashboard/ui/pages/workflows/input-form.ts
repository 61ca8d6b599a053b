import type { Schema } from "@svc/sdk";

/** The fields that a workflow takes, as its trigger has them. */
export type InputFields = Readonly<
  Record<
    string,
    {
      readonly type: "string" | "number" | "integer" | "boolean" | "object" | "array";
      readonly enum?: readonly unknown[];
      readonly default?: unknown;
      readonly example?: unknown;
      readonly required?: boolean;
      readonly description?: string;
    }
  >
>;

/** The form of a run: the fields of its trigger as a schema. */
export function inputForm(fields: InputFields): Schema {
  const entries = Object.entries(fields).map(([name, { type, enum: values, default: usual, example, description }]) => {
    const words = [description, example === undefined ? undefined : `Such as ${typeof example === "string" ? example : JSON.stringify(example)}`];
    return [
      name,
      {
        type,
        title: name,
        ...(values === undefined ? {} : { enum: values }),
        ...(usual === undefined ? {} : { default: usual }),
        description: words.filter((word) => word !== undefined).join(". "),
      },
    ] as const;
  });
  const required = Object.entries(fields).flatMap(([name, field]) => (field.required === true && field.default === undefined ? [name] : []));
  return { type: "object", properties: Object.fromEntries(entries), ...(required.length === 0 ? {} : { required }) } as Schema;
}
