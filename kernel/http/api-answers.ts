import type { Answers, RouteAnswer, Schema } from "@svc/sdk";
import type { OwnedRoute } from "./router.ts";

/** Descriptions of the routes' answers, read from their plugins. */
export interface ReadAnswers {
  /** By the plugin that has them. */
  readonly byOwner: ReadonlyMap<string, Answers>;
  /** Schemas that have a name of their own in the document. */
  readonly names: ReadonlyMap<object, string>;
}

/** Permitted names of components in an OpenAPI document. */
const NAME = /^[A-Za-z0-9._-]+$/;

/** Loads the description of each plugin of these routes once. An unreadable one is skipped: the document describes the others. */
export async function readAnswers(routes: readonly OwnedRoute[]): Promise<ReadAnswers> {
  const loaders = new Map(routes.flatMap(({ owner = "kernel", answers }) => (answers === undefined ? [] : [[owner, answers] as const])));
  const byOwner = new Map<string, Answers>();
  for (const [owner, load] of loaders) {
    const answers = await Promise.resolve()
      .then(load)
      .then(({ default: told }) => told)
      .catch(() => undefined);
    if (answers !== undefined && isObject(answers.schemas) && isObject(answers.routes)) byOwner.set(owner, answers);
  }
  return { byOwner, names: namesOf(byOwner) };
}

/** Returns the answers of a route that its plugin describes. */
export function toldAnswers({ method, path, owner = "kernel", head }: OwnedRoute, { byOwner }: ReadAnswers): readonly RouteAnswer[] {
  if (head === true) return [{ type: "*/*" }];
  const told = byOwner.get(owner)?.routes[`${method} ${path}`];
  return Array.isArray(told) ? told.filter(isObject) : [];
}

/** Returns component names; one that two plugins use, or that OpenAPI does not permit, gets its plugin as prefix. */
function namesOf(byOwner: ReadonlyMap<string, Answers>): Map<object, string> {
  const names = new Map<object, string>();
  const taken = new Set(["Error"]);
  for (const [owner, { schemas }] of byOwner) {
    for (const [name, schema] of Object.entries(schemas as Readonly<Record<string, Schema>>)) {
      if (!isObject(schema) || names.has(schema)) continue;
      const its = NAME.test(name) && !taken.has(name) ? name : `${owner}.${name.replace(/[^A-Za-z0-9._-]/g, "_")}`;
      taken.add(its);
      names.set(schema, its);
    }
  }
  return names;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
