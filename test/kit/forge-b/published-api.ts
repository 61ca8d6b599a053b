import { createRequire } from "node:module";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const API = "api";
const BODY = "application/json";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** A request as it is held against the published API. */
export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Undefined where there was none. */
  readonly body: unknown;
}

/** What the published API says of a request: its template and values of the path, and all that is wrong with it. */
export interface Verdict {
  readonly template?: string;
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

/** The API as its vendor publishes it: judges requests, unknown keys of query and body included. */
export interface PublishedApi {
  judge(request: ApiRequest): Verdict;
}

let loaded: PublishedApi | undefined;

/** Loaded once a process. What it is judged by was taken out of the vendor's file by `extract-api.mjs`; test/peers holds it against the whole. */
export function publishedApi(): PublishedApi {
  loaded ??= createPublishedApi(createRequire(import.meta.url)("./api.json") as Document);
  return loaded;
}

function createPublishedApi(document: Document): PublishedApi {
  const ajv = new Ajv2020({ strict: false, allErrors: true, coerceTypes: false });
  addFormats.default(ajv);
  // A format of the vendor's own, `owner/name`.
  ajv.addFormat("repo.nwo", /^[\w.-]+\/[\w.-]+$/);
  ajv.addSchema(document as object, API);
  const compiled = new Map<string, ValidateFunction>();
  const templates = Object.keys(document.paths).map((template) => ({
    template,
    names: [...template.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name as string),
    pattern: new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[^}]+\}/g, "([^/]+)")}$`),
  }));
  // `/issues/comments` is no issue number: what names more in words comes first.
  templates.sort((left, right) => left.names.length - right.names.length);

  const check = (pointer: string, value: unknown): readonly string[] => {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `${API}#${pointer}` });
    compiled.set(pointer, known);
    if (known(value)) return [];
    return (known.errors ?? []).map(({ instancePath, message }) => `${instancePath || "the value"} ${message}`);
  };

  const at = (pointer: string): unknown =>
    pointer
      .split("/")
      .slice(1)
      .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key.replaceAll("~1", "/").replaceAll("~0", "~")], document);

  const follow = (schema: Schema): Schema => (schema.$ref === undefined ? schema : follow(at(schema.$ref.slice(1)) as Schema));

  /** The published schemas leave objects open; a key that none of them names is a mistake of the caller all the same. */
  const unknownKeys = (schemas: readonly Schema[], value: unknown, place: string): string[] => {
    const all = schemas.flatMap(function flat(schema): Schema[] {
      const one = follow(schema);
      return [one, ...[...(one.oneOf ?? []), ...(one.anyOf ?? []), ...(one.allOf ?? [])].flatMap(flat)];
    });
    if (Array.isArray(value)) {
      const items = all.flatMap(({ items }) => (items === undefined ? [] : [items]));
      return items.length === 0 ? [] : value.flatMap((item, index) => unknownKeys(items, item, `${place}/${index}`));
    }
    if (typeof value !== "object" || value === null) return [];
    const named = all.filter(({ properties }) => properties !== undefined);
    if (named.length === 0) return [];
    return Object.entries(value).flatMap(([key, inner]) => {
      const inside = named.flatMap(({ properties }) => (properties?.[key] === undefined ? [] : [properties[key] as Schema]));
      return inside.length === 0 ? [`${place}/${key} is unknown`] : unknownKeys(inside, inner, `${place}/${key}`);
    });
  };

  const parametersOf = (operation: Operation, pointer: string) =>
    (operation.parameters ?? []).map((parameter, index) =>
      "$ref" in parameter
        ? { ...(at(parameter.$ref.slice(1)) as Parameter), pointer: `${parameter.$ref.slice(1)}/schema` }
        : { ...parameter, pointer: `${pointer}/parameters/${index}/schema` },
    );

  return {
    judge({ method, path, query, body }) {
      const found = templates.find(({ template, pattern }) => pattern.test(path) && document.paths[template]?.[method.toLowerCase()] !== undefined);
      if (found === undefined) return { values: {}, problems: [`${method} ${path} is no call of the API`] };
      const { template, names, pattern } = found;
      const pointer = `/paths/${template.replaceAll("~", "~0").replaceAll("/", "~1")}/${method.toLowerCase()}`;
      const operation = document.paths[template]?.[method.toLowerCase()] as Operation;
      const raw = pattern.exec(path)?.slice(1) ?? [];
      const values = Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(raw[index] ?? "")]));
      const parameters = parametersOf(operation, pointer);
      const problems: string[] = [];
      for (const parameter of parameters) {
        const given = parameter.in === "path" ? values[parameter.name] : parameter.in === "query" ? query.get(parameter.name) : undefined;
        if (given === null || given === undefined) {
          if (parameter.required && parameter.in !== "header") problems.push(`${parameter.in} ${parameter.name} is missing`);
          continue;
        }
        const problem = check(parameter.pointer, typed(given, follow(parameter.schema)));
        problems.push(...problem.map((text) => `${parameter.in} ${parameter.name}: ${text}`));
      }
      const asked = new Set(parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name));
      for (const name of query.keys()) if (!asked.has(name)) problems.push(`query ${name} is unknown`);
      problems.push(...bodyProblems(operation, pointer, body));
      return { template, values, problems };
    },
  };

  function bodyProblems({ requestBody }: Operation, pointer: string, body: unknown): readonly string[] {
    const schema = requestBody?.content[BODY]?.schema;
    if (schema === undefined) return body === undefined ? [] : ["the call takes no body"];
    if (body === undefined) return requestBody?.required ? ["the body is missing"] : [];
    const place = `${pointer}/requestBody/content/${BODY.replaceAll("/", "~1")}/schema`;
    return [...check(place, body), ...unknownKeys([schema], body, "")].map((text) => `body: ${text}`);
  }
}

/** As the text of an address says it: what is no number stays a text, and is refused as one. */
function typed(text: string, { type }: Schema): unknown {
  if (type === "integer" || type === "number") return /^-?\d+$/.test(text) ? Number(text) : text;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}
