import type { Definition, Entry } from "../engine/types.ts";
import { ofRun, type RunRooms } from "../runs/run-rows.ts";
import { Shelf } from "../runs/shelf.ts";
import { type Fold, foldJournal } from "./fold.ts";

/** Runs that a new definition is held against. */
const RUNS = 20;

/** Whether the newest completed runs of the workflow would have gone the same way by this definition. It never keeps anything from being promoted. */
export async function foldRuns(rooms: Pick<RunRooms, "runs" | "entries" | "values">, definition: Definition): Promise<readonly Fold[]> {
  const runs = await rooms.runs.list({ where: { workflow: definition.id, status: "completed" }, by: "endedAt", reverse: true, limit: RUNS });
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
