import { setTimeout as pause } from "node:timers/promises";
import { codeOf } from "@svc/sdk";
import { MINUTE } from "../base/calendar/zone.ts";
import type { JobsDeps, MissedSpan, SchedulePart } from "../core/boot/schedule-port.ts";
import { claimMinute, createJobBook, minutesOf } from "./job-records.ts";
import { createSchedule } from "./schedule.ts";

/** So many jobs are named when minutes were missed; all are recorded. */
const MISSED_SHOWN = 20;
/** The daemon that tells first goes on telling, as long as it lives. */
const LEASE_MS = 60_000;
/** Failures of a store that end by themselves, and milliseconds until it is asked again. */
const PASSING = /^SVC_STORE_(BUSY|FULL|UNREACHABLE)$/;
const AGAIN_MS = 5_000;
/** Of more the newest are kept, as in the record itself. */
const UNRECORDED = 1_000;

/** The jobs of a kernel: their minutes are claimed in its store, and what is missed is recorded and told, by one of the daemons that use it. */
export function createJobs({ node, store, log, bus, now }: JobsDeps): ReturnType<SchedulePart["createJobs"]> {
  const book = createJobBook(node, store, log);

  async function tellMissed(spans: readonly MissedSpan[]): Promise<void> {
    // What another daemon had its eye on, it has run.
    const others = await book.lookedByOthers();
    const missed = spans.filter(({ last }) => last.getTime() > others * MINUTE);
    if (missed.length === 0 || !(await store.lease("missed-minutes", LEASE_MS)).held) return;
    const shown = missed.slice(0, MISSED_SHOWN).map(({ job, ...span }) => ({ job, ...minutesOf(span, now()) }));
    const names = shown.map(({ job }) => job).join(", ");
    const summary = `minutes of ${missed.length} jobs were missed and are not made up for: ${names}${missed.length > shown.length ? " ..." : ""}`;
    await book.missed(missed, now());
    log.warn({ missed: shown }, summary);
    bus.publish({ kind: "status", type: "status", summary, data: { state: "minutes-missed", jobs: missed.length, missed: shown } });
  }

  let unrecorded: readonly MissedSpan[] = [];
  let recording = false;

  /** What a store without room or answer could not claim, it cannot record as missed either: it is tried again until it can, all together. */
  async function recordMissed(spans: readonly MissedSpan[]): Promise<void> {
    unrecorded = [...unrecorded, ...spans].slice(-UNRECORDED);
    if (recording) return;
    recording = true;
    while (unrecorded.length > 0) {
      const some = unrecorded;
      unrecorded = [];
      try {
        await tellMissed(some);
      } catch (error) {
        if (!PASSING.test(codeOf(error) ?? "")) log.error({ err: error }, "missed minutes were not recorded");
        else {
          unrecorded = [...some, ...unrecorded].slice(-UNRECORDED);
          await pause(AGAIN_MS, undefined, { ref: false });
        }
      }
    }
    recording = false;
  }

  const schedule = createSchedule({
    claim: (job, minute) => claimMinute(store, job, minute, now()),
    onMissed: (missed) => void recordMissed(missed),
    onLook: (looked) => book.looked(looked),
    log,
    now,
  });
  return { schedule, book };
}
