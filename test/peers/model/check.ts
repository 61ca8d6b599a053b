/** A request that the real API would refuse with status 400. `path` points into the body. */
export class Refusal extends Error {
  readonly status: number;
  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

/** A failure that a test has asked for: no defect of the client. */
export class ScriptedFailure extends Refusal {
  constructor(status: number, words?: string) {
    super(words ?? `The script failed with ${status}.`, status);
  }
}

export type Fields = Record<string, unknown>;

export function refuseUnless(holds: unknown, message: string): asserts holds {
  if (!holds) throw new Refusal(message);
}

export function object(value: unknown, path: string): Fields {
  refuseUnless(typeof value === "object" && value !== null && !Array.isArray(value), `${path}: must be an object`);
  return value as Fields;
}

export function array(value: unknown, path: string): unknown[] {
  refuseUnless(Array.isArray(value), `${path}: must be an array`);
  return value;
}

export function text(value: unknown, path: string): string {
  refuseUnless(typeof value === "string", `${path}: must be a string`);
  return value;
}

/** A name as the vendors allow it. */
export function toolName(value: unknown, path: string, pattern = /^[\w-]{1,128}$/): string {
  const name = text(value, path);
  refuseUnless(pattern.test(name), `${path}: '${name}' is not a tool name`);
  return name;
}

export function distinct(values: readonly string[], path: string): void {
  refuseUnless(new Set(values).size === values.length, `${path}: names must be unique`);
}
