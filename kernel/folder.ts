/* Entry of a command that works on a bot's folder alone: a tenth of the kernel's modules. The rest is in index.ts. */

export { timesOf } from "./base/calendar/times.ts";
export { loadEnvironment } from "./base/config-text/environment.ts";
export { lockHolder, requireUnheld, tryLock } from "./base/folder-lock.ts";
export { createFolder } from "./capabilities/files/files.ts";
