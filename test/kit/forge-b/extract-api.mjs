/**
 * Writes what far ends need of a published OpenAPI file: for each call its parameters and body, with the schemas they name, and no prose.
 * The whole package would be 385 MB for everybody who installs this project.
 *
 *   node test/kit/forge-b/extract-api.mjs <api.github.com.json of @octokit/openapi> > test/kit/forge-b/api.json
 */
import { readFileSync } from "node:fs";

const PROSE = new Set(["description", "summary", "example", "examples", "externalDocs", "tags", "title", "deprecated"]);
const METHODS = ["get", "post", "put", "patch", "delete"];

/** The request side of the calls that `wanted` names, by template and method. */
export function extract(document, wanted) {
  const kept = { components: {}, paths: {} };
  const place = (pointer) => pointer.slice(2).split("/");
  const at = (pointer) => place(pointer).reduce((value, key) => value[key], document);

  /** Names of properties are no prose, whatever they are called. */
  const bare = (value, named) => {
    if (Array.isArray(value)) return value.map((item) => bare(item, false));
    if (typeof value !== "object" || value === null) return value;
    if (typeof value.$ref === "string") keep(value.$ref);
    const entries = Object.entries(value).filter(([key]) => named || !(PROSE.has(key) || key.startsWith("x-")));
    return Object.fromEntries(entries.map(([key, one]) => [key, bare(one, !named && key === "properties")]));
  };

  function keep(pointer) {
    const keys = place(pointer);
    const last = keys.pop();
    const parent = keys.reduce((value, key) => {
      value[key] ??= {};
      return value[key];
    }, kept);
    if (parent[last] !== undefined) return;
    parent[last] = {};
    parent[last] = bare(at(pointer), false);
  }

  for (const [template, item] of Object.entries(document.paths))
    for (const method of METHODS) {
      const call = item[method];
      if (call === undefined || !wanted(method.toUpperCase(), template)) continue;
      kept.paths[template] ??= {};
      const { operationId, parameters, requestBody } = call;
      kept.paths[template][method] = bare({ operationId, ...(parameters && { parameters }), ...(requestBody && { requestBody }) }, false);
    }
  return kept;
}

/** What belongs to a repository and may be of use to an agent. */
const PARTS = "branches|collaborators|comments|commits|contents|git|hooks|installation|issues|labels|pulls";

/** Calls on repositories and what an App and a user need: all that a client of this far end may try. */
export const isWanted = (_method, template) =>
  new RegExp(`^/(user|users/\\{username\\}|app|app/.*|installation/.*|repos/\\{owner\\}/\\{repo\\}(/(${PARTS}).*)?)$`).test(template);

if (process.argv[1] === import.meta.filename) {
  const document = JSON.parse(readFileSync(process.argv[2], "utf8"));
  process.stdout.write(`${JSON.stringify(extract(document, isWanted), null, 1)}\n`);
}
