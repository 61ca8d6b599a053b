import { fail } from "../errors.ts";

/** Milliseconds of a minute. */
export const MINUTE = 60_000;

/** Clocks of one time zone. Offsets are in minutes east of UTC, whole minutes as the schedule counts them. */
export interface Zone {
  /** The offset at an instant given in Unix minutes. */
  offset(minute: number): number;
}

/** A wall-clock reading as if it were UTC: Unix minutes plus the offset. */
export const wall = (zone: Zone, minute: number): number => minute + zone.offset(minute);

const zones = new Map<string, Zone>();

/** The zone of an IANA name. Throws `SVC_CRON_INVALID` for an unknown one. */
export function zoneOf(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    throw fail("SVC_CRON_INVALID", { expression: name, reason: "there is no such time zone; use an IANA name such as Europe/Athens" });
  }
  // Cache of offsets: formatting takes about ten microseconds, and a tick reads the same few instants many times.
  const cache = new Map<number, number>();
  const zone: Zone = {
    offset(minute) {
      let offset = cache.get(minute);
      if (offset === undefined) {
        const part: Record<string, number> = {};
        for (const { type, value } of format.formatToParts(minute * MINUTE)) part[type] = Number(value);
        const { year = 1970, month = 1, day = 1, hour = 0, minute: minutes = 0 } = part;
        offset = Math.round(Date.UTC(year, month - 1, day, hour, minutes) / MINUTE) - minute;
        if (cache.size > 5_000) cache.clear();
        cache.set(minute, offset);
      }
      return offset;
    },
  };
  zones.set(name, zone);
  return zone;
}
