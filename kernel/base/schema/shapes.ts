import type { Schema } from "@svc/sdk";

/** A text that must not be empty: an unset variable fails here, with its path (CFG-03). */
export const word = (description: string, more: Schema = {}): Schema => ({ type: "string", minLength: 1, description, ...more });

/** An optional text. */
export const text = (description: string, more: Schema = {}): Schema => ({ type: "string", description, ...more });

/** A list of texts, empty unless configured. */
export const words = (description: string, more: Schema = {}): Schema => ({ type: "array", items: { type: "string" }, description, ...more });

/** True or false. */
export const flag = (description: string, more: Schema = {}): Schema => ({ type: "boolean", description, ...more });

/** One of a few words. */
export const choice = (description: string, values: readonly string[], more: Schema = {}): Schema => ({ type: "string", enum: values, description, ...more });

/** A number in an inclusive range. */
export const range = (description: string, minimum: number, maximum: number, more: Schema = {}): Schema => ({
  type: "number",
  minimum,
  maximum,
  description,
  ...more,
});

/** A whole number of things. */
export const count = (description: string, minimum: number, more: Schema = {}): Schema => ({ type: "integer", minimum, description, ...more });
