import { channelError, type WorkLabel } from "@svc/sdk";
import { type Api, at } from "./client.ts";
import { fieldsOf, textOf } from "./shapes.ts";

/** The labels of projects. The forge makes what it does not have when it is added: so they are looked up before. */
export interface Labels {
  /** Throws `permanent` with the names that the project has not. */
  require(project: string, names: readonly string[], token: string, signal: AbortSignal): Promise<void>;
  /** Current labels of all these projects, each name once, in their order. */
  read(projects: readonly string[], token: string, signal: AbortSignal): Promise<readonly WorkLabel[]>;
}

const KEEP_MS = 300_000;
const MOST = 5_000;

/** Keeps the list of a project for five minutes; a name that is missing there is looked up once more. */
export function createLabels(api: Api, now: () => number = Date.now): Labels {
  const lists = new Map<string, { readonly at: number; readonly names: ReadonlySet<string> }>();
  async function readAll(project: string, token: string, signal: AbortSignal): Promise<ReadonlyMap<string, WorkLabel>> {
    const found = new Map<string, WorkLabel>();
    const path = at("projects", project, "labels");
    for await (const page of api.pages({ path, query: { include_ancestor_groups: "true" }, token, signal })) for (const label of page) keep(found, label);
    lists.set(project, { at: now(), names: new Set(found.keys()) });
    return found;
  }
  return {
    async require(project, names, token, signal) {
      if (names.length === 0) return;
      const unusable = names.filter((name) => name.trim() === "" || name.includes(","));
      if (unusable.length > 0) throw missing(project, unusable);
      const kept = lists.get(project);
      const fresh = kept !== undefined && now() - kept.at < KEEP_MS;
      if (fresh && names.every((name) => kept.names.has(name))) return;
      const list = await readAll(project, token, signal);
      const absent = names.filter((name) => !list.has(name));
      if (absent.length > 0) throw missing(project, absent);
    },
    async read(projects, token, signal) {
      const all = new Map<string, WorkLabel>();
      for (const project of new Set(projects)) for (const [name, label] of await readAll(project, token, signal)) if (!all.has(name)) all.set(name, label);
      return [...all.values()].sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, MOST);
    },
  };
}

function keep(found: Map<string, WorkLabel>, value: unknown): void {
  const { name, color, description } = fieldsOf(value);
  const text = textOf(name);
  if (text === "") return;
  const shown = textOf(color);
  const meaning = textOf(description);
  found.set(text, {
    name: text,
    ...(/^#[0-9a-f]{6}$/i.test(shown) ? { color: shown } : {}),
    ...(meaning === "" ? {} : { description: meaning.slice(0, 1_000) }),
  });
}

const missing = (project: string, names: readonly string[]) =>
  Object.assign(
    channelError("permanent", `the project ${project} has no label ${names.map((name) => `'${name}'`).join(", ")}; labels are made at the forge, not here`),
    { status: 422 },
  );
