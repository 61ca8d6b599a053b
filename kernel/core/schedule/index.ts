export { parseCron } from "../../base/calendar/cron.ts";
export { nextTimes } from "../../base/calendar/matcher.ts";
export { timesOf } from "../../base/calendar/times.ts";
export { zoneOf } from "../../base/calendar/zone.ts";
export { createSchedule, type Looked, type MissedSpan, type Schedule, type ScheduleOptions } from "./schedule.ts";
