import { channelError } from "@svc/sdk";
import { type Api, at } from "./client.ts";
import { fieldsOf, textOf } from "./shapes.ts";

/** The labels of projects. The forge makes what it does not have when it is added: so they are looked up before. */
export interface Labels {
  /** Throws `permanent` with the names that the project has not. */
  require(project: string, names: readonly string[], token: string, signal: AbortSignal): Promise<void>;
}

const KEEP_MS = 300_000;

/** Keeps the list of a project for five minutes; a name that is missing there is looked up once more. */
export function createLabels(api: Api, now: () => number = Date.now): Labels {
  const lists = new Map<string, { readonly at: number; readonly names: ReadonlySet<string> }>();
  async function listOf(project: string, token: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    const path = at("projects", project, "labels");
    for await (const page of api.pages({ path, query: { include_ancestor_groups: "true" }, token, signal }))
      for (const label of page) names.add(textOf(fieldsOf(label).name));
    lists.set(project, { at: now(), names });
    return names;
  }
  return {
    async require(project, names, token, signal) {
      if (names.length === 0) return;
      const unusable = names.filter((name) => name.trim() === "" || name.includes(","));
      if (unusable.length > 0) throw missing(project, unusable);
      const kept = lists.get(project);
      const fresh = kept !== undefined && now() - kept.at < KEEP_MS;
      if (fresh && names.every((name) => kept.names.has(name))) return;
      const list = await listOf(project, token, signal);
      const absent = names.filter((name) => !list.has(name));
      if (absent.length > 0) throw missing(project, absent);
    },
  };
}

const missing = (project: string, names: readonly string[]) =>
  Object.assign(
    channelError("permanent", `the project ${project} has no label ${names.map((name) => `'${name}'`).join(", ")}; labels are made at the forge, not here`),
    { status: 422 },
  );
