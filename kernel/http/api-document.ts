import type { RouteAnswer, Schema } from "@svc/sdk";
import { ERRORS } from "../base/errors.ts";
import { type ReadAnswers, toldAnswers } from "./api-answers.ts";
import type { OwnedRoute } from "./router.ts";

/** OpenAPI 3.1 document of one server. */
export interface ApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: object;
  readonly tags: readonly { readonly name: string }[];
}

/** Members of a schema that are ours and mean nothing to others. */
const OURS: ReadonlySet<string> = new Set(["secret", "masked", "restart", "unread"]);

/** Describes the routes by their own declarations: parameters, bodies, guards, and the errors of each. */
export function apiDocument(name: string, version: string, routes: readonly OwnedRoute[], answers: ReadAnswers): ApiDocument {
  const named = (schema: Schema) => plain(schema, answers.names);
  const paths: Record<string, Record<string, object>> = {};
  const served = new Set<string>();
  for (const route of routes) {
    const path = route.path.replace(/:([A-Za-z_]\w*)/g, "{$1}").replace(/\*$/, "{rest}");
    const method = route.method.toLowerCase();
    // The first of two is the one that is served, also where only the names of their parameters differ.
    const place = `${method} ${path.replace(/\{\w+\}/g, "{}")}`;
    if (served.has(place)) continue;
    served.add(place);
    const same = Object.keys(paths).find((one) => one.replace(/\{\w+\}/g, "{}") === path.replace(/\{\w+\}/g, "{}")) ?? path;
    paths[same] = { ...paths[same], [method]: operationOf(route, same, toldAnswers(route, answers), named) };
  }
  const owners = [...new Set(routes.map(({ owner = "kernel" }) => owner))];
  return {
    openapi: "3.1.0",
    info: {
      title: `svc: the server ${name}`,
      version,
      description: "The body of an error is JSON: `error` is its message, `code` stays the same from version to version.",
    },
    paths,
    components: {
      schemas: { Error: ERROR, ...Object.fromEntries([...answers.names].map(([schema, its]) => [its, plain(schema, answers.names, schema)])) },
      responses: { Error: { description: "What went wrong", content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } } },
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "A token of svc token add, or a peer's" } },
    },
    tags: owners.map((owner) => ({ name: owner })),
  };
}

const ERROR = {
  type: "object",
  required: ["error"],
  properties: {
    error: { type: "string" },
    code: {
      type: "string",
      description: `Plugins add codes of their own. The daemon's: ${Object.entries(ERRORS)
        .map(([code, [status]]) => `${code} (${status})`)
        .join(", ")}`,
    },
    path: { type: "string", description: "Where in the body or the query" },
    field: { type: "string" },
  },
};

function operationOf(route: OwnedRoute, path: string, told: readonly RouteAnswer[], named: (schema: Schema) => object): object {
  const { summary, guard, owner = "kernel", body, query, raw, method } = route;
  const given = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: { type: "string" } }));
  const asked = Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: query?.required?.includes(name) ?? false,
    ...(schema.description === undefined ? {} : { description: schema.description }),
    schema: plain(schema),
  }));
  const parameters = [...given, ...asked];
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+/g, "_").replace(/_$/, "")}` || method,
    ...(summary === undefined ? {} : { summary }),
    tags: [owner],
    "x-guard": guard,
    security: securityOf(guard),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body !== undefined
      ? { requestBody: { required: true, content: { "application/json": { schema: plain(body) } } } }
      : raw === true
        ? { requestBody: { content: { "application/octet-stream": { schema: {} } } } }
        : {}),
    responses: {
      ...Object.fromEntries(refusals(route).map((status) => [status, { $ref: "#/components/responses/Error" }])),
      ...(told.length === 0 ? { "200": { description: "Done" } } : responsesOf(told, named)),
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

/** The answers of a route, by status; of one status there may be several content types. */
function responsesOf(told: readonly RouteAnswer[], named: (schema: Schema) => object): Record<string, object> {
  const responses: Record<string, { description: string; content?: Record<string, object> }> = {};
  for (const { status = 200, json, type } of told) {
    const at = String(status);
    const content = json !== undefined ? { "application/json": { schema: named(json) } } : type === undefined ? undefined : { [type]: {} };
    const before = responses[at]?.content;
    responses[at] = {
      description: status < 400 ? "Done" : "Refused, with what is asked for",
      ...(content === undefined ? {} : { content: { ...before, ...content } }),
    };
  }
  return responses;
}

/** Returns the statuses with which the server itself may refuse, before it calls the handler. */
function refusals({ guard, body, query, raw }: OwnedRoute): string[] {
  const proven = guard !== "open" && guard !== "signed";
  return [
    ...(body !== undefined || query !== undefined ? ["400"] : []),
    ...(proven ? (guard === "loopback" ? ["403"] : ["401", "403", "429"]) : []),
    ...(body !== undefined || raw === true ? ["413"] : []),
    ...(body !== undefined ? ["415"] : []),
  ];
}

/** Empty list: anyone. An empty entry beside the bearer: callers on this machine need none. */
function securityOf(guard: string): object[] {
  if (guard === "open" || guard === "signed" || guard === "loopback") return [];
  return guard === "peer" ? [{}, { bearer: [] }] : [{ bearer: [] }];
}

/** Returns the schema without our own keywords, at any depth, and with `$ref`s to the named ones. Names of properties are left unchanged. */
function plain(schema: Schema, names: ReadAnswers["names"] = new Map(), itself?: Schema): object {
  const keep = (value: unknown, properties: boolean): unknown => {
    if (Array.isArray(value)) return value.map((one) => keep(one, false));
    if (typeof value !== "object" || value === null) return value;
    const name = value === itself ? undefined : names.get(value);
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    const entries = Object.entries(value).filter(([key]) => properties || !OURS.has(key));
    return Object.fromEntries(entries.map(([key, inner]) => [key, DATA.has(key) && !properties ? inner : keep(inner, key === "properties" && !properties)]));
  };
  return keep(schema, false) as object;
}

/** Members that hold values, not schemas. */
const DATA: ReadonlySet<string> = new Set(["default", "enum", "const", "required"]);
