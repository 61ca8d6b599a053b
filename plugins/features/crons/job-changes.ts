import { codeOf, type SettingEdit, type Settings, type SettingsDocument, type SettingsReport, svcError } from "@svc/sdk";
import type { JobSettings, PendingApproval } from "./settings.ts";

/** A job as svc.json has it: without defaults, `${NAME}` as written. */
export type WrittenJob = Partial<JobSettings> & Pick<JobSettings, "schedule" | "agent">;

/** Access to the file: of a plugin, or of a command. */
export interface JobFile {
  read(): Promise<Pick<SettingsDocument, "document" | "revision">>;
  change: Settings["change"];
}

/** The jobs of the file by id. */
export type WrittenJobs = Readonly<Record<string, WrittenJob>>;

const TRIES = 8;

/** What a job does, in two words. */
export const workOf = ({ agent, command, workflow }: Pick<JobSettings, "agent" | "command" | "workflow">): string =>
  workflow !== undefined ? `workflow ${workflow}` : command === undefined ? `agent ${agent}` : "command";

/** The jobs of svc.json as they are written. */
export async function readJobs(file: Pick<JobFile, "read">): Promise<WrittenJobs> {
  return jobsIn(await file.read());
}

const jobsIn = ({ document }: Pick<SettingsDocument, "document">): WrittenJobs => (document["crons"] ?? {}) as WrittenJobs;

/**
 * Changes jobs in svc.json: `edits` says what to do with the jobs that are there, and is asked again where somebody changed the file
 * meanwhile. What it throws ends it.
 */
export async function changeJobs(file: JobFile, by: string, edits: (jobs: WrittenJobs) => readonly SettingEdit[]): Promise<SettingsReport | undefined> {
  for (let tries = 1; ; tries += 1) {
    const read = await file.read();
    const wanted = edits(jobsIn(read));
    if (wanted.length === 0) return undefined;
    try {
      return await file.change(wanted, { by, expect: read.revision });
    } catch (error) {
      if (codeOf(error) !== "SVC_CONFIG_CHANGED" || tries === TRIES) throw error;
    }
  }
}

/** The job of that id. Throws `SVC_CRON_UNKNOWN`. */
export function jobIn(jobs: WrittenJobs, id: string): WrittenJob {
  const job = Object.hasOwn(jobs, id) ? jobs[id] : undefined;
  if (job === undefined) throw svcError("SVC_CRON_UNKNOWN", `There is no job '${id}'; see svc schedule list.`, { status: 404 });
  return job;
}

/** `reference`: its texts may hold `${NAME}` for the daemon to expand. */
export const addition = (id: string, job: WrittenJob, reference = false): SettingEdit => ({
  path: ["crons", id],
  value: job,
  ...(reference ? { reference: true } : {}),
});
/** Takes a job out. */
export const removal = (id: string): SettingEdit => ({ path: ["crons", id] });
/** Turns a job on or off. */
export const switching = (id: string, enabled: boolean): SettingEdit => ({ path: ["crons", id, "enabled"], value: enabled });
/** Asks the operator to take a job out. */
export const deletionWish = (id: string, requestedBy: string, now: Date): SettingEdit => ({
  path: ["crons", id, "approval"],
  value: { action: "delete", requestedBy, requestedAt: now.toISOString() } satisfies PendingApproval,
});

/** Returns the edit for a decision about a job's pending approval (CRON-03): a rejected creation removes the job, a rejected deletion keeps it. */
export function verdict(id: string, { action }: Pick<PendingApproval, "action">, approved: boolean): SettingEdit {
  return (action === "create") === approved ? { path: ["crons", id, "approval"] } : removal(id);
}

/** An id that is free, made of what the job is to do. */
export function freeId(jobs: WrittenJobs, words: string): string {
  const stem =
    words
      .normalize("NFD")
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter(Boolean)
      .slice(0, 4)
      .join("-")
      .slice(0, 40) || "job";
  let id = stem;
  for (let at = 2; Object.hasOwn(jobs, id); at += 1) id = `${stem}-${at}`;
  return id;
}
