import type { Entry, EntryKind } from "./entries.ts";
import { most, RunDraft } from "./run-draft.ts";
import type { Arrival, GroupState, RunState, ScopeState, StepState } from "./run-state.ts";

/** Number of signal keys kept for deduplication: an older one would be accepted again. */
const SIGNAL_KEYS = 1_000;

/**
 * The state after an entry; `undefined` before the first. The only writer of state: it knows nothing of the definition, so a journal
 * folds to its state whatever has become of the file. The state given stays as it is.
 */
export function apply(state: RunState | undefined, entry: Entry): RunState {
  const draft = new RunDraft(state);
  applyTo(draft, entry);
  return draft.state;
}

/** The state of a whole journal. */
export function fold(journal: Iterable<Entry>): RunState | undefined {
  const draft = new RunDraft(undefined);
  for (const entry of journal) applyTo(draft, entry);
  return draft.known;
}

/** The same on a draft, which copies what it changes once for all the entries of a commit. */
export function applyTo(draft: RunDraft, entry: Entry): void {
  (WRITERS[entry.kind] as (draft: RunDraft, entry: Entry) => void)(draft, entry);
  draft.set({ seq: entry.seq, updatedAt: entry.at });
}

const nothing = () => {};

const WRITERS: { readonly [K in EntryKind]: (draft: RunDraft, entry: Entry<K>) => void } = {
  "run.started": (draft, { run, prior, at }) => draft.begin(run, prior, at),
  "step.ready": (draft, { step, node, iteration, visit, scope, from, lin, late }) => {
    draft.step({ id: step, node, iteration, visit, scope, status: "ready", attempt: 0, from, lin, ...marks(late), in: draft.valueFrom(from, scope) });
    draft.visited(scope, node, visit);
  },
  "step.claimed": (draft, { step, attempt, boot, timeoutAt, at }) => {
    const { wait, waitSeq, boot: before, timeoutAt: old, ...rest } = draft.live(step);
    draft.step({
      ...rest,
      status: "running",
      attempt,
      claimedAt: at,
      ...(boot === undefined ? {} : { boot }),
      ...(timeoutAt === undefined ? {} : { timeoutAt }),
    });
  },
  "step.waiting": (draft, { step, wait, seq }) => {
    const { timeoutAt, ...rest } = draft.live(step);
    // A person who is asked about the step has the time they need.
    const limit = wait.kind === "incident" || timeoutAt === undefined ? {} : { timeoutAt };
    draft.step({ ...rest, ...limit, status: "waiting", wait, waitSeq: seq });
  },
  "step.ended": (draft, { step, output }) => {
    const { node, scope, iteration } = draft.live(step);
    draft.result(scope, node, { status: "ok", iteration, output });
    draft.gone(step);
  },
  "step.retry": (draft, { step, attempt, error, due, again, at, seq }) => {
    const { items, itemVisits, overdue, lost, attemptsBefore, ...rest } = draft.live(step);
    const visits = items?.visits === undefined ? itemVisits : most(itemVisits ?? {}, items.visits);
    const stops = error.code === "INTERRUPTED" && !again ? (lost ?? 0) + 1 : again ? 0 : (lost ?? 0);
    const before = again ? attempt : (attemptsBefore ?? 0);
    draft.step({
      ...rest,
      ...(stops > 0 ? { lost: stops } : {}),
      ...(before > 0 ? { attemptsBefore: before } : {}),
      ...(visits === undefined ? {} : { itemVisits: visits }),
      status: "waiting",
      wait: { kind: "retry", since: at, until: due, for: step },
      waitSeq: seq,
    });
  },
  "step.failed": (draft, { step, error }) => {
    const { node, scope, iteration } = draft.live(step);
    draft.result(scope, node, { status: error.code === "TIMEOUT" ? "timeout" : "failed", iteration, error });
    draft.gone(step);
  },
  "step.canceled": (draft, { step }) => draft.gone(step),
  "port.dead": nothing,
  "join.arrived": (draft, { group, node, scope, from, edge, lin, late }) => {
    const arrival: Arrival = { from, edge, lin, ...marks(late), value: draft.valueFrom(from, scope) };
    const arrivals = draft.state.groups[group]?.arrivals ?? [];
    draft.group({ id: group, node, scope, arrivals: [...arrivals, arrival] });
  },
  "join.fired": (draft, { group, scope, node, iteration, visit, late, output }) => {
    draft.noGroup(group);
    draft.visited(scope, node, visit);
    draft.result(scope, node, { status: "ok", iteration, output });
    for (const id of late) markLate(draft, id, node);
  },
  "join.late": nothing,
  "join.short": (draft, { group, scope, node, iteration, visit, error }) => {
    draft.noGroup(group);
    draft.visited(scope, node, visit);
    draft.result(scope, node, { status: "failed", iteration, error });
  },
  "join.dropped": (draft, { group }) => draft.noGroup(group),
  "items.opened": (draft, { step, items, need, at, seq }) => {
    const state = { list: items, started: 0, open: [], good: 0, outputs: items.map(() => null), ...(need === undefined ? {} : { need }) };
    draft.step({ ...draft.live(step), status: "waiting", wait: { kind: "items", since: at, for: step }, waitSeq: seq, items: state });
  },
  "item.started": (draft, { step, index, scope }) => {
    draft.openScope(scope, step, index);
    draft.items(step, (items) => ({ ...items, started: index + 1, open: [...items.open, scope] }));
  },
  "item.ended": (draft, { step, index, scope, ok, error }) => {
    const value = ok ? (draft.state.scopes[scope]?.output ?? null) : { error };
    draft.items(step, (items) => ({
      ...items,
      open: items.open.filter((one) => one !== scope),
      good: items.good + (ok ? 1 : 0),
      outputs: items.outputs.with(index, value),
    }));
    draft.closeScope(scope, step);
  },
  "scope.dropped": (draft, { step, scope }) => {
    draft.items(step, (items) => ({ ...items, open: items.open.filter((one) => one !== scope) }));
    draft.closeScope(scope, step);
  },
  "scope.output": (draft, { step, scope }) => {
    const output = draft.valueFrom(step, scope);
    draft.scope({ ...(draft.state.scopes[scope] as ScopeState), output });
  },
  // Counted when it starts: one that was given up before its end is no longer the child of the step either.
  "child.started": (draft, { step }) => {
    const live = draft.live(step);
    draft.step({ ...live, children: (live.children ?? 0) + 1 });
  },
  "child.ended": nothing,
  "task.created": nothing,
  "task.commented": nothing,
  "task.overdue": (draft, { step }) => draft.step({ ...draft.live(step), overdue: true }),
  "task.submitted": nothing,
  "task.canceled": nothing,
  "signal.received": (draft, { name, payload, key }) => {
    const { signalKeys } = draft.state;
    draft.set({ signal: { name, payload }, ...(key === undefined ? {} : { signalKeys: [...signalKeys, key].slice(-SIGNAL_KEYS) }) });
  },
  "signal.delivered": (draft) => draft.noSignal(),
  "signal.stored": (draft, { id, name }) => {
    draft.set({ signals: [...draft.state.signals, { id, name, payload: draft.state.signal?.payload ?? null }] });
    draft.noSignal();
  },
  "signal.taken": (draft, { id }) => draft.set({ signals: draft.state.signals.filter((one) => one.id !== id) }),
  "signal.dropped": (draft, { id }) => {
    if (id === undefined) draft.noSignal();
    else draft.set({ signals: draft.state.signals.filter((one) => one.id !== id) });
  },
  "run.paused": (draft) => draft.set({ status: "paused" }),
  "run.resumed": (draft) => draft.set({ status: "running" }),
  "run.completed": (draft, { output, at }) => draft.set({ status: "completed", output, endedAt: at }),
  "run.failed": (draft, { error, step, at }) => draft.set({ status: "failed", error, endedAt: at, ...(step === undefined ? {} : { failedStep: step }) }),
  "run.canceled": (draft, { at }) => draft.set({ status: "canceled", endedAt: at }),
};

const marks = (late: readonly string[] | undefined) => (late === undefined ? {} : { late });

/** A step, or the arrivals of a group, missed the firing of a join. */
function markLate(draft: RunDraft, id: string, join: string): void {
  const add = <T extends StepState | Arrival>(one: T): T => (one.late?.includes(join) ? one : { ...one, late: [...(one.late ?? []), join] });
  const step = draft.state.steps[id];
  if (step !== undefined) draft.step(add(step));
  const group: GroupState | undefined = draft.state.groups[id];
  if (group !== undefined) draft.group({ ...group, arrivals: group.arrivals.map(add) });
}
