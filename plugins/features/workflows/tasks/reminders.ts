import { codeOf, type PluginContext, put, reasonOf } from "@svc/sdk";
import type { TaskQuestions } from "./task-questions.ts";
import { TASKS } from "./task-row.ts";
import type { TaskRows } from "./task-rows.ts";

/** Reminders of open tasks: times are rows, in memory there is one timer, for the nearest. */
export interface Reminders {
  /** Sends due reminders, and sets the timer of the next one. Called whenever a task was created. */
  look(): void;
  stop(): Promise<void>;
}

const PAGE = 50;
const AGAIN_MS = 60_000;

/** Makes the reminders. */
export function createReminders(
  { jobs, store, log, signal }: Pick<PluginContext, "jobs" | "store" | "log" | "signal">,
  { collection }: Pick<TaskRows, "collection">,
  questions: Pick<TaskQuestions, "remind">,
): Reminders {
  let cancel: (() => void) | undefined;
  let looking: Promise<void> = Promise.resolve();
  let stopped = false;

  async function pass(): Promise<void> {
    cancel?.();
    cancel = undefined;
    for (;;) {
      if (stopped || signal.aborted) return;
      const docs = await collection.list({ by: "remindAt", limit: PAGE });
      const due = docs.filter(({ value }) => (value.remindAt ?? 0) <= Date.now());
      for (const { key, value, version } of due) {
        const { remindAt = 0, remindMs = AGAIN_MS } = value;
        // Asked before it is written: after a crash in between it is the same question, by its occasion.
        await questions.remind(value, remindAt);
        const missed = Math.floor((Date.now() - remindAt) / remindMs) + 1;
        try {
          await store.commit([put(TASKS, key, { ...value, remindAt: remindAt + missed * remindMs }, version)]);
        } catch (error) {
          // Submitted or commented meanwhile: the next look sees how it is.
          if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
        }
      }
      if (due.length > 0) continue;
      const next = docs[0]?.value.remindAt;
      if (next !== undefined) cancel = jobs.at(next, look);
      return;
    }
  }

  function look(): void {
    looking = looking.then(pass).catch((error) => {
      if (stopped || signal.aborted) return;
      log.error({ err: error }, `the reminders of tasks could not be read: ${reasonOf(error)}; tried again in ${AGAIN_MS / 1_000} s`);
      cancel = jobs.after(AGAIN_MS, look);
    });
  }

  return {
    look,
    async stop() {
      stopped = true;
      cancel?.();
      await looking;
    },
  };
}
