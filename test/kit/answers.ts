import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** What of an OpenAPI document answers are judged by. */
export interface AnswerDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly responses: { readonly Error: Response } };
}

interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}

/** One answer of a daemon. */
export interface Given {
  readonly method: string;
  /** As it was asked, query and all. */
  readonly path: string;
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Judges answers by a document, strictly: a member that the schema does not name is wrong. */
export function answerJudge({ paths, components }: AnswerDocument) {
  // Each schema judges a few answers: code that is made faster, or with the schemas that it refers to in it, would cost more than it saves.
  const ajv = new Ajv2020({ allErrors: true, strict: false, inlineRefs: false, code: { optimize: false } });
  formats.default(ajv);
  ajv.addSchema({ $id: "api", ...(closed({ components: { schemas: components.schemas } }) as object) });
  const compiled = new Map<object, ValidateFunction>();
  const templates = Object.keys(paths)
    .map((path) => ({
      path,
      pattern: new RegExp(
        `^${path
          .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
          .replace(/\{rest\}/g, ".*")
          .replace(/\{\w+\}/g, "[^/]+")}$`,
      ),
    }))
    .sort((a, b) => a.path.split("{").length - b.path.split("{").length);
  return {
    /** The operation that served it, such as `GET /things/{id}`, and what is wrong with the answer. */
    judge({ method, path, status, type, text }: Given): { readonly route: string; readonly wrong: readonly string[] } {
      const plain = path.split("?")[0] as string;
      const found = templates.find((one) => one.pattern.test(plain) && paths[one.path]?.[method.toLowerCase()] !== undefined);
      if (found === undefined) return { route: `${method} ${plain}`, wrong: ["the document has no such route"] };
      const route = `${method} ${found.path}`;
      const { responses = {} } = paths[found.path]?.[method.toLowerCase()] ?? {};
      const told = responses[status] ?? (status < 400 ? undefined : responses["default"]);
      if (told === undefined) return { route, wrong: [`the document has no answer ${status}`] };
      const { content } = told.$ref === undefined ? told : components.responses.Error;
      if (content === undefined) return { route, wrong: text === "" ? [] : [`the document says nothing of the body of ${status}`] };
      const body = content[type] ?? content["*/*"];
      if (body === undefined) return { route, wrong: [`${type} is none of ${Object.keys(content).join(", ")}`] };
      if (body.schema === undefined) return { route, wrong: [] };
      const fits = compiled.get(body.schema) ?? ajv.compile(absolute(closed(body.schema)) as object);
      compiled.set(body.schema, fits);
      return {
        route,
        wrong: fits(JSON.parse(text)) ? [] : (fits.errors ?? []).map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`),
      };
    },
  };
}

/** With every object closed that names its members. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const names = "type" in schema && "properties" in schema && !("additionalProperties" in schema);
  return names ? { ...inner, additionalProperties: false } : inner;
}

/** With references into the document that `api` stands for. */
function absolute(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"api#/components/'));
}
