import type { Definition, Entry } from "../engine/types.ts";
import { ofRun, type RunRooms } from "../runs/run-rows.ts";
import { Shelf } from "../runs/shelf.ts";
import { type Fold, foldJournal } from "./fold.ts";

/** Runs that a new definition is held against. */
const RUNS = 20;

/**
 * Whether the newest completed runs would have gone the same way by this definition: of the workflow that has its id or that of its draft, and of
 * those whose runs it was made from. It never keeps anything from being promoted.
 */
export async function foldRuns(rooms: Pick<RunRooms, "runs" | "entries" | "values">, definition: Definition, draft = definition.id): Promise<readonly Fold[]> {
  const workflows = new Set([definition.id, draft]);
  for (const source of definition.sourceTaskIds?.slice(0, RUNS) ?? []) {
    const run = (await rooms.runs.get(source))?.value;
    if (run !== undefined) workflows.add(run.workflow);
  }
  const pages = await Promise.all(
    [...workflows].map((workflow) => rooms.runs.list({ where: { workflow, status: "completed" }, by: "endedAt", reverse: true, limit: RUNS })),
  );
  const runs = pages
    .flat()
    .sort((left, right) => (right.value.endedAt ?? 0) - (left.value.endedAt ?? 0))
    .slice(0, RUNS);
  const folds: Fold[] = [];
  for (const { key, value: row } of runs) {
    // A replay has the answers of another run, and a restart begins in the middle.
    if (row.state.entry.kind === "replay" || row.state.restartOf !== undefined) continue;
    const shelf = new Shelf(key, rooms.values, row);
    const journal: Entry[] = [];
    for await (const { value } of ofRun(rooms.entries, key)) journal.push((await shelf.whole(value)) as Entry);
    folds.push(foldJournal(key, definition, journal));
  }
  return folds;
}
