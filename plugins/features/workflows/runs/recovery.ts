import { reasonOf } from "@svc/sdk";
import { pendingCommands } from "../engine/pending.ts";
import type { Effects } from "./effects.ts";
import type { Host, RunsContext } from "./host.ts";
import { entryKey, ofRun, type RunRooms } from "./run-rows.ts";

/** Dependencies of continuing the work of an earlier process. */
export interface RecoveryParts {
  readonly ctx: Pick<RunsContext, "jobs" | "log" | "signal">;
  readonly host: Host;
  readonly rooms: RunRooms;
  readonly effects: Effects;
  /** Of this life. */
  readonly boot: string;
}

const PAGE = 100;
/** Milliseconds after which what could not be taken up is tried again. */
const AGAIN_MS = 5_000;

/** Tells the bus what was stored and perhaps not told. */
export async function tellLeft({ host, rooms }: Pick<RecoveryParts, "host" | "rooms">): Promise<void> {
  const { untold } = host;
  for (const [runId, after] of untold.left()) {
    const row = (await rooms.runs.get(runId))?.value;
    const entries = [];
    for await (const { value } of ofRun(rooms.entries, runId, entryKey(runId, after))) entries.push(value);
    untold.caughtUp(runId);
    if (row === undefined) untold.told(runId);
    // Entries that this process has published already are deduplicated by their id.
    else host.tell(runId, row, await host.definition(row.hash), entries, "running");
  }
}

/** Takes up the runs of which a step is ready or was at work. What waits is not loaded: its row of the clock, its task or its signal does that. */
export async function takeUpRuns(parts: RecoveryParts): Promise<void> {
  const { rooms } = parts;
  const seen = new Set<string>();
  for (;;) {
    const page = await rooms.runs.list({ where: { busy: 1 }, limit: PAGE + seen.size });
    const fresh = page.filter(({ key }) => !seen.has(key));
    if (fresh.length === 0) return;
    for (const { key } of fresh) {
      seen.add(key);
      await tryTakeUp(parts, key);
    }
  }
}

/** On a full disk it is taken up as soon as there is room. */
async function tryTakeUp(parts: RecoveryParts, runId: string): Promise<void> {
  const { jobs, log, signal } = parts.ctx;
  try {
    await takeUp(parts, runId);
  } catch (error) {
    if (signal.aborted) return;
    log.error({ err: error, run: runId }, `the run ${runId} could not be taken up: ${reasonOf(error)}; tried again in ${AGAIN_MS / 1_000} s`);
    jobs.after(AGAIN_MS, () => void tryTakeUp(parts, runId));
  }
}

async function takeUp({ host, effects, boot }: RecoveryParts, runId: string): Promise<void> {
  const row = await host.takeUp(runId);
  const definition = await host.definition(row.hash);
  for (const command of pendingCommands(definition, row.state)) {
    if (command.do === "claim" || command.do === "ended" || !("step" in command)) continue;
    const given = ((await host.given(runId, row, command.step)) ?? {}) as object;
    effects.begin(runId, row, definition, { step: command.step, given, again: row.state.steps[command.step]?.boot !== boot });
  }
}
