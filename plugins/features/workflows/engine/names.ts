import { own } from "./own.ts";
import type { RunState, ScopeState, StepResult } from "./run-state.ts";

/** Names for expressions, beside `values` of a submit and `secrets` of an action. */
export interface Names {
  readonly input: unknown;
  /** The token's value. */
  readonly in: unknown;
  /** The latest ended visit of each node, in this scope or one around it. */
  readonly steps: Readonly<Record<string, StepResult>>;
  readonly item?: unknown;
  readonly index?: number;
  readonly run: {
    readonly id: string;
    readonly workflow: string;
    readonly rootId: string;
    /** ISO 8601. */
    readonly startedAt: string;
    readonly attempt: number;
    readonly depth: number;
    /** With the present visit. */
    readonly visits: Readonly<Record<string, number>>;
  };
}

/** The names for the templates of a live step. */
export function namesOf(state: RunState, step: string): Names {
  const live = own(state.steps, step);
  if (live === undefined) throw new Error(`the step '${step}' of the run '${state.id}' is not live`);
  const scopes = around(state, live.scope);
  const inner = scopes.findLast(({ owner }) => owner !== undefined);
  const items = inner?.owner === undefined ? undefined : state.steps[inner.owner]?.items;
  const { id, workflow, rootId, startedAt, depth, input } = state;
  return {
    input,
    in: live.in,
    steps: Object.assign({}, ...scopes.map(({ results }) => results)),
    ...(inner?.index === undefined ? {} : { item: items?.list[inner.index], index: inner.index }),
    run: {
      id,
      workflow,
      rootId,
      startedAt: new Date(startedAt).toISOString(),
      attempt: live.attempt,
      depth,
      visits: Object.assign({}, ...scopes.map(({ visits }) => visits)),
    },
  };
}

/** The latest output of each node of the top graph. */
export function contextOf({ scopes }: RunState): Readonly<Record<string, unknown>> {
  const results = Object.entries(scopes[""]?.results ?? {});
  return Object.fromEntries(results.flatMap(([node, { status, output }]) => (status === "ok" ? [[node, output]] : [])));
}

/** The scopes around a step, outermost first. */
function around({ scopes, steps }: RunState, scope: string): ScopeState[] {
  const found: ScopeState[] = [];
  for (let one = scopes[scope]; one !== undefined; one = one.owner === undefined ? undefined : scopes[steps[one.owner]?.scope ?? ""]) found.unshift(one);
  return found;
}
