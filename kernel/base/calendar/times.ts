import type { TimeRange } from "@svc/sdk";
import { parseCron } from "./cron.ts";
import { nextTimes } from "./matcher.ts";
import { zoneOf } from "./zone.ts";

const MOST = 1_000;

/** Returns the next times of an expression in a zone: `Jobs.next` in the daemon, an isolated plugin and a command. Throws `SVC_CRON_INVALID`. */
export const timesOf = (expression: string, timezone = "UTC", { count = 5, from = new Date() }: TimeRange = {}): readonly Date[] =>
  nextTimes(parseCron(expression), zoneOf(timezone), from, Math.min(count, MOST));
