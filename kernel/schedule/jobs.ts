import type { JobsDeps, SchedulePart } from "../core/boot/schedule-port.ts";
import { claimMinute, createJobBook, minutesOf } from "./job-records.ts";
import { createSchedule } from "./schedule.ts";

/** So many jobs are named when minutes were missed; all are recorded. */
const MISSED_SHOWN = 20;

/** The jobs of a kernel: their minutes are claimed in its store, and what is missed is recorded and told. */
export function createJobs({ node, store, log, bus, now }: JobsDeps): ReturnType<SchedulePart["createJobs"]> {
  const book = createJobBook(node, store, log);
  const schedule = createSchedule({
    claim: (job, minute) => claimMinute(store, job, minute, now()),
    onMissed(missed) {
      book.missed(missed, now()).catch((error) => log.error({ err: error }, "missed minutes were not recorded"));
      const shown = missed.slice(0, MISSED_SHOWN).map(({ job, ...span }) => ({ job, ...minutesOf(span, now()) }));
      const names = shown.map(({ job }) => job).join(", ");
      const summary = `minutes of ${missed.length} jobs were missed and are not made up for: ${names}${missed.length > shown.length ? " ..." : ""}`;
      log.warn({ missed: shown }, summary);
      bus.publish({ kind: "status", type: "status", summary, data: { state: "minutes-missed", jobs: missed.length, missed: shown } });
    },
    onLook: (looked) => book.looked(looked),
    log,
    now,
  });
  return { schedule, book };
}
