import type { Parts, Time } from "./phrase.ts";
import type { Spoken } from "./phrase-spoken.ts";

const SUFFIX = " ?(?:am|pm|a\\.m\\.?|p\\.m\\.?|o'clock|h(?:rs)?)?(?![a-z])";
/** A time behind `at`, where a bare number is an hour. */
const ANY = `(?:\\d{1,2}(?:[:.]\\d{2})?${SUFFIX}|noon|midday|midnight)`;
/** A time that needs no `at`. */
const CLEAR = `(?:\\d{1,2}[:.]\\d{2}${SUFFIX}|\\d{1,2} ?(?:am|pm|a\\.m\\.?|p\\.m\\.?|o'clock)(?![a-z])|noon|midday|midnight)`;

type Half = "am" | "pm" | undefined;

/** Two digits. */
export const pad = (number: number): string => String(number).padStart(2, "0");

/** Takes times of day, hours between which an interval counts, and minutes past the hour. */
export function takeTimes(spoken: Spoken, parts: Parts): void {
  const half = takeHalf(spoken);
  const window = parts.interval && spoken.take(new RegExp(`\\b(?:between|from) (?<from>${ANY}) ?(?:and|to|until|till|-) ?(?<to>${ANY})`));
  if (window !== undefined) {
    const [from, to] = [timeOf(spoken, window.from ?? "", half), timeOf(spoken, window.to ?? "", half)];
    parts.window = { from, to: to.hour === 0 && to.minute === 0 ? { hour: 24, minute: 0 } : to };
    spoken.understood(`between ${window.from?.trim()} and ${window.to?.trim()}`);
  }
  takePastHour(spoken, parts);
  const behind = new RegExp(`\\b(?:at|@) ?(?<list>${ANY}(?: ?and (?:at )?${ANY})*)`);
  const alone = new RegExp(`(?<![\\d:.])(?<list>${CLEAR}(?: ?and ${ANY})*)`);
  for (const pattern of [behind, alone])
    for (let found = spoken.take(pattern); found !== undefined; found = spoken.take(pattern))
      for (const text of (found.list ?? "").split(/ ?and (?:at )?/)) add(spoken, parts, timeOf(spoken, text, half));
}

function add(spoken: Spoken, { times }: Parts, time: Time): void {
  if (times.some(({ hour, minute }) => hour === time.hour && minute === time.minute)) return;
  times.push(time);
  spoken.understood(`${pad(time.hour)}:${pad(time.minute)}`);
}

function takePastHour(spoken: Spoken, parts: Parts): void {
  const spelled = spoken.take(/\b(?:at )?(?<part>half|quarter) (?<side>past|to) (?<hour>\d{1,2})(?<end> ?[ap]m)?\b/);
  if (spelled !== undefined) {
    const { hour, minute } = timeOf(spoken, `${spelled.hour}${spelled.end ?? ""}`, undefined);
    if (spelled.side === "to" && spelled.part === "half") throw spoken.unclear("half to an hour means nothing");
    const past = spelled.part === "half" ? 30 : spelled.side === "past" ? 15 : -15;
    const total = (hour * 60 + minute + past + 1_440) % 1_440;
    add(spoken, parts, { hour: Math.floor(total / 60), minute: total % 60 });
  }
  const past = spoken.take(
    /\bat (?:minute (?<minute>\d{1,2})|:(?<colon>\d{2})|(?<past>\d{1,2})(?: minutes?)? past(?: the)?(?: hour)?(?! \d)|(?<quarter>quarter|half) past(?: the hour)?(?! \d))/,
  );
  if (past === undefined) return;
  const minute = past.quarter === undefined ? Number(past.minute ?? past.colon ?? past.past) : past.quarter === "half" ? 30 : 15;
  if (minute > 59) throw spoken.unclear(`there is no minute ${minute}`);
  parts.pastHour = minute;
  spoken.understood(`minute ${minute} of the hour`);
}

/** `in the morning`, `at night`: the half of the day that hours without am or pm are in. */
function takeHalf(spoken: Spoken): Half {
  const found = spoken.take(/\b(?:(?:in |of )?the |at |every |each |\| ?)?(?<part>mornings?|afternoons?|evenings?|night)\b/);
  if (found?.part === undefined) return undefined;
  if (found.part === "night" && spoken.find(/\b\d{1,2}(?!\d| ?[ap]m|[:.]\d{2} ?[ap]m)/) !== null)
    throw spoken.unclear("'night' may be before or after midnight; say am or pm");
  spoken.understood(`in the ${found.part}`);
  return found.part.startsWith("morning") ? "am" : found.part === "night" ? undefined : "pm";
}

function timeOf(spoken: Spoken, text: string, half: Half): Time {
  const word = text.trim();
  if (word === "noon" || word === "midday") return { hour: 12, minute: 0 };
  if (word === "midnight") return { hour: 0, minute: 0 };
  const [, hours = "", minutes = "0", end = ""] = /^(\d{1,2})(?:[:.](\d{2}))? ?([ap])?/.exec(word) ?? [];
  const [hour, minute] = [Number(hours), Number(minutes)];
  if (hour > 23 || minute > 59) throw spoken.unclear(`'${word}' is no time of day`);
  if (end !== "" && (hour === 0 || hour > 12)) throw spoken.unclear(`'${word}' is no time of day: am and pm take hours from 1 to 12`);
  const side: Half = end === "a" ? "am" : end === "p" ? "pm" : half;
  if (end !== "" && half !== undefined && side !== half) throw spoken.unclear(`'${word}' is in the other half of the day`);
  if (side === "am" && end === "" && hour > 12) throw spoken.unclear(`'${word}' is not in the morning`);
  if (side === undefined || hour > 12) return { hour, minute };
  return { hour: (hour % 12) + (side === "pm" ? 12 : 0), minute };
}
