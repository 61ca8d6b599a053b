export { parseCron } from "./cron.ts";
export { timesOf } from "./times.ts";
export { zoneOf } from "./zone.ts";
