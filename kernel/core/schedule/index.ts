export { parseCron } from "./cron.ts";
export { nextTimes } from "./matcher.ts";
export { createSchedule, type Looked, type MissedSpan, type Schedule, type ScheduleOptions } from "./schedule.ts";
export { zoneOf } from "./zone.ts";
