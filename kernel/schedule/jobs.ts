import { setTimeout as pause } from "node:timers/promises";
import { codeOf, type MissedMinutes } from "@svc/sdk";
import { MINUTE } from "../base/calendar/zone.ts";
import type { JobsDeps, MissedSpan, SchedulePart } from "../core/boot/schedule-port.ts";
import { createBegunMinutes } from "./begun-minutes.ts";
import { createJobBook, MISSED, MISSED_KEPT, minutesOf } from "./job-records.ts";
import { createSchedule } from "./schedule.ts";

/** So many jobs are named when minutes were missed; all are recorded. */
const MISSED_SHOWN = 20;
/** The daemon that first reports missed runs continues to do so, as long as it lives. */
const LEASE_MS = 60_000;
/** Temporary failures of a store, and milliseconds until a retry. */
const PASSING = /^SVC_STORE_(BUSY|FULL|UNREACHABLE)$/;
const AGAIN_MS = 5_000;
/** Of more the newest are kept, as in the record itself. */
const UNRECORDED = 1_000;

/** Creates the jobs of a kernel: their minutes are claimed in its store, and missed ones are recorded and reported by one of the daemons that use it. */
export function createJobs({ node, store, log, bus, now, nodes }: JobsDeps): ReturnType<SchedulePart["createJobs"]> {
  const book = createJobBook(node, store, log);

  const begun = createBegunMinutes({
    node,
    store,
    now,
    // Alone with its state this daemon had another name before.
    isDead: async (other) => !(await nodes?.())?.some(({ name, state }) => name === other && state !== "dead"),
  });

  function tell(minutes: readonly (MissedMinutes & { readonly job: string })[], summaryOf: (jobs: number) => string): void {
    const missed = minutes.slice(0, MISSED_SHOWN);
    const names = missed.map(({ job }) => job).join(", ");
    const summary = `${summaryOf(minutes.length)}: ${names}${minutes.length > missed.length ? " ..." : ""}`;
    log.warn({ missed }, summary);
    bus.publish({ kind: "status", type: "status", summary, data: { state: "minutes-missed", jobs: minutes.length, missed } });
  }

  async function tellMissed(spans: readonly MissedSpan[]): Promise<void> {
    // Another daemon has run the jobs that it had noted.
    const others = await book.lookedByOthers();
    const seen = spans.filter(({ last, claimed }) => claimed === true || last.getTime() > others * MINUTE);
    if (seen.length === 0) return;
    const { held } = await store.lease("missed-minutes", LEASE_MS);
    const missed = held ? seen : seen.filter(({ claimed }) => claimed);
    if (missed.length === 0) return;
    await book.missed(missed, now());
    const told = missed.map(({ job, ...span }) => ({ job, ...minutesOf(span, now()) }));
    tell(told, (jobs) => `minutes of ${jobs} jobs were missed and are not made up for`);
  }

  let looking = false;

  /** What was begun by daemons that are gone is told by the first one that finds it. */
  async function tellLeft(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      const left = await begun.takeLeft(MISSED, now());
      if (left.length === 0) return;
      await store.journal(MISSED).trim(MISSED_KEPT);
      tell(left, (jobs) => `a daemon ended as minutes of ${jobs} jobs began; whether they ran is not known, and they do not begin again`);
    } catch (error) {
      if (!PASSING.test(codeOf(error) ?? "")) log.error({ err: error }, "what ended daemons had begun was not looked for");
    } finally {
      looking = false;
    }
  }

  let unrecorded: readonly MissedSpan[] = [];
  let recording = false;

  /** If the store is full or down, a minute can be neither claimed nor recorded as missed: retry until it can, all together. */
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
    claim: begun.claim,
    end: (job, minute) =>
      void begun
        .end(job, minute)
        .catch((error) => log.warn({ job, minute, err: error }, "the end of a job's run was not stored: the next start says that it is not known")),
    onMissed: (missed) => void recordMissed(missed),
    async onLook(looked) {
      await Promise.all([book.looked(looked), tellLeft()]);
    },
    log,
    now,
  });
  return { schedule, book };
}
