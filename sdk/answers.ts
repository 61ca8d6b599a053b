import type { Schema } from "./config.ts";

/** One of the ways in which a route answers a request that it serves. Errors have one shape for all routes and are not described. */
export interface RouteAnswer {
  /** Default 200. */
  readonly status?: number;
  /** The body is JSON of this shape. */
  readonly json?: Schema;
  /** Where the body is something else: its content type, such as `text/event-stream`. */
  readonly type?: string;
}

/**
 * Schemas of the answers of a plugin's routes, for `GET /openapi.json`, `svc api --types` and tests: the default export of a module of its own,
 * imported only when one of these is requested. Served answers are not validated against it.
 */
export interface Answers {
  /** By their names, such as `Trace`. A schema that holds one of these objects refers to it by its name. */
  readonly schemas: Readonly<Record<string, Schema>>;
  /** By method and path, such as `GET /things/:id`; the same on each server that has the route. */
  readonly routes: Readonly<Record<string, readonly RouteAnswer[]>>;
}

/** Returns the schema of an object: required members, and optional ones. More may come with a later version. */
export const objectOf = (required: Readonly<Record<string, Schema>>, optional: Readonly<Record<string, Schema>> = {}): Schema => ({
  type: "object",
  ...(Object.keys(required).length === 0 ? {} : { required: Object.keys(required) }),
  properties: { ...required, ...optional },
});

/** The schema of a list. */
export const listOf = (items: Schema): Schema => ({ type: "array", items });

/** The schema of an object whose keys are names and whose values have one shape. */
export const recordOf = (additionalProperties: Schema | true): Schema => ({ type: "object", additionalProperties });
