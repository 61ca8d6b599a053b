import type { TimeRange } from "@svc/sdk";
import { parseCron } from "./cron.ts";
import { nextTimes } from "./matcher.ts";
import { zoneOf } from "./zone.ts";

const MOST = 1_000;

/** When an expression runs in a zone: `Jobs.next` wherever it is asked, in the daemon, an isolated plugin or a command. Throws `SVC_CRON_INVALID`. */
export const timesOf = (expression: string, timezone = "UTC", { count = 5, from = new Date() }: TimeRange = {}): readonly Date[] =>
  nextTimes(parseCron(expression), zoneOf(timezone), from, Math.min(count, MOST));
