import { type Action, definePlugin, type Store, svcError } from "@svc/sdk";
import { createFakeContext, createMemoryStore, type FakeTasks } from "@svc/sdk/testing";
import { expect, vi } from "vitest";
import type { Definition, Edge, Entry, Node } from "../engine/types.ts";
import type { TaskPort } from "./ports.ts";
import { entryKey } from "./run-rows.ts";
import { Runs } from "./runs.ts";

/** `a > b, a.error > c` as edges. */
export const edges = (text: string): readonly Edge[] =>
  text
    .split(",")
    .map((edge) => edge.trim())
    .filter(Boolean)
    .map((edge) => {
      const [source = "", to = ""] = edge.split(">").map((part) => part.trim());
      const [from = "", fromPort] = source.split(".");
      return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
    });

/** A definition of these nodes, with a trigger `start`. */
export const definitionOf = (id: string, nodes: readonly Node[], ways: string, more: Partial<Definition> = {}): Definition => ({
  id,
  nodes: [{ id: "start", kind: "trigger" }, ...nodes],
  edges: edges(ways),
  ...more,
});

/** Rows of tasks that say no more than that there is one. */
const tasks: TaskPort = { rows: async () => [], committed: () => {} };

/** An action that takes and gives anything. */
export const action = (name: string, run: Action["run"]): Action => ({
  name,
  description: name,
  input: { type: "object", additionalProperties: true },
  output: {},
  timeoutMs: 60_000,
  run,
});

/** A store that counts commits, and whose disk may be full. */
export function counted(store: Store): Store & { commits(): number; full(full: boolean): void } {
  let [commits, full] = [0, false];
  return {
    ...store,
    async commit(ops) {
      if (full) throw svcError("SVC_STORE_FULL", "The disk is full.", { status: 507 });
      commits += 1;
      return store.commit(ops);
    },
    commits: () => commits,
    full(now) {
      full = now;
    },
  };
}

export interface StageOptions {
  readonly definitions: readonly Definition[];
  readonly store?: Store;
  readonly actions?: readonly Action[];
  readonly tasks?: FakeTasks;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs over a store in memory, which a second stage may go on with. */
export async function stage({ definitions, store = createMemoryStore(), actions = [], tasks: given, env = {} }: StageOptions) {
  const plugin = definePlugin({
    kind: "feature",
    name: "workflows",
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: ["actions", "events", "env:*", "jobs", "store", "tasks"],
    setup() {},
  });
  const ctx = createFakeContext(plugin, { store, actions, env, ...(given === undefined ? {} : { tasks: given }) });
  const at = (time: Date | number, run: () => unknown) => {
    const timer = setTimeout(run, Math.max(0, Number(time) - Date.now()));
    return () => clearTimeout(timer);
  };
  const repeated: { readonly ms: number; run(): unknown }[] = [];
  const every = (ms: number, run: () => unknown) => {
    repeated.push({ ms, run });
    return () => {};
  };
  const jobs = { ...ctx.jobs, at, after: (ms: number, run: () => void) => at(Date.now() + ms, run), every };
  const known = new Map(definitions.map((definition) => [definition.id, { definition, hash: `hash-${definition.id}` }]));
  const runs = new Runs({
    ctx: Object.create(ctx, { jobs: { value: jobs } }),
    definitions: { get: (id) => known.get(id) },
    tasks,
    ready: async () => {},
    defaultAgent: async () => "ada",
  });
  await runs.open();
  const entriesOf = async (runId: string): Promise<readonly Entry[]> =>
    (await runs.rooms.entries.list({ after: entryKey(runId, 0), limit: 1000 })).filter(({ key }) => key.startsWith(`${runId}/`)).map(({ value }) => value);
  return {
    ctx,
    store,
    runs,
    entriesOf,
    /** What is done again within this time. */
    tick: (within = 1_000) => Promise.all(repeated.filter(({ ms }) => ms <= within).map(({ run }) => run())),
    start: (id: string, input: Record<string, unknown> = {}, more: object = {}) => runs.start(id, { input, entry: { kind: "api" }, ...more }),
    /** Waits until the run says so. */
    until: async (runId: string, status: string) =>
      vi.waitFor(async () => expect((await runs.run(runId))?.status).toBe(status), { timeout: 20_000, interval: 5 }),
  };
}
