import { createHash } from "node:crypto";

/** The id of the task of a step, the same whenever it is asked: a task is made once, however often its step is tried. */
export const taskIdOf = (run: string, step: string): string => `ut_${digest(`${run}/${step}`)}`;

/** The id of the question what to do with a step after this attempt. */
export const incidentIdOf = (run: string, step: string, attempt: number): string => `ut_${digest(`${run}/${step}#${attempt}`)}`;

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 24);
