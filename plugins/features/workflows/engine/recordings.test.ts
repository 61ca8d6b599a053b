import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { apply, fold } from "./apply.ts";
import type { Entry, EntryKind } from "./entries.ts";
import { recordings } from "./recordings.harness.ts";
import type { RunState } from "./run-state.ts";

const FOLDER = join(import.meta.dirname, "fixtures");

interface Recording {
  /** The commit of the engine that wrote it. */
  readonly engine: string;
  readonly state: RunState;
  readonly journal: readonly Entry[];
}

const revisions = readdirSync(FOLDER).sort();

describe.each(revisions)("journals of the engine's revision %s", (revision) => {
  const names = readdirSync(join(FOLDER, revision));

  it.each(names)("%s folds to its state, at once and entry by entry", (name) => {
    const { state, journal, engine } = JSON.parse(readFileSync(join(FOLDER, revision, name), "utf8")) as Recording;
    expect(engine).toMatch(/^[0-9a-f]{7,}$/);
    expect(fold(journal)).toEqual(state);
    let stepwise: RunState | undefined;
    for (const entry of journal) stepwise = JSON.parse(JSON.stringify(apply(stepwise, entry))) as RunState;
    expect(stepwise).toEqual(state);
  });
});

describe("the recordings", () => {
  it("hold every kind of entry that a run can write", () => {
    const kinds = new Set(Object.values(recordings()).flatMap(({ journal }) => journal.map(({ kind }) => kind)));
    const all: Record<EntryKind, true> = {
      "run.started": true,
      "step.ready": true,
      "step.claimed": true,
      "step.waiting": true,
      "step.ended": true,
      "step.retry": true,
      "step.failed": true,
      "step.canceled": true,
      "port.dead": true,
      "join.arrived": true,
      "join.fired": true,
      "join.late": true,
      "join.short": true,
      "join.dropped": true,
      "items.opened": true,
      "item.started": true,
      "item.ended": true,
      "scope.dropped": true,
      "scope.output": true,
      "child.started": true,
      "child.ended": true,
      "task.created": true,
      "task.commented": true,
      "task.overdue": true,
      "task.submitted": true,
      "task.canceled": true,
      "signal.received": true,
      "signal.delivered": true,
      "signal.stored": true,
      "signal.taken": true,
      "signal.dropped": true,
      "run.paused": true,
      "run.resumed": true,
      "run.completed": true,
      "run.failed": true,
      "run.canceled": true,
    };
    expect(Object.keys(all).filter((kind) => !kinds.has(kind as EntryKind))).toEqual([]);
  });
});
