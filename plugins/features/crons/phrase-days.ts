import type { Parts } from "./phrase.ts";
import type { Spoken } from "./phrase-spoken.ts";

const DAY = "(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?s?";
const DAY_START = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTH = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const MONTH_START = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const ORDINAL = "(?:first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)";
const OF_MONTH = "(?: (?:of|in) (?:the|every|each|a) month)";
const NUMBERED = "(?:[12]?\\d|3[01])(?:st|nd|rd|th)|first|second|third|fourth|fifth";
const NAMES = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const startOf = (list: readonly string[], word: string): number => list.indexOf(word.slice(0, 3));
const ordinalOf = (word: string): string => {
  const at = ["first", "second", "third", "fourth", "fifth"].indexOf(word);
  return word === "last" ? "L" : at === -1 ? String(Number.parseInt(word, 10)) : String(at + 1);
};

/** Takes on which days and in which months. */
export function takeDays(spoken: Spoken, parts: Parts): void {
  refuseUncountable(spoken);
  takeNth(spoken, parts);
  takeDates(spoken, parts);
  takeWeekdays(spoken, parts);
  takeHowOften(spoken, parts);
}

/** Refuses phrases that five fields cannot express. */
function refuseUncountable(spoken: Spoken): void {
  const no: readonly (readonly [RegExp, string])[] = [
    [/\b(?:except|unless|but|not|holidays?|without)\b/, "a schedule has no exceptions; name the days on which it runs"],
    [
      /\b(?:every|each) (?:other|second|2nd|third|3rd|2|3|4|5|6|7|8|9|1\d) (?:days?|weeks?|weekdays?)\b|\b(?:fortnightly|biweekly|fortnight|alternate)\b/,
      "a schedule does not count days or weeks: it knows days of the week, of the month and months",
    ],
    [new RegExp(`\\b(?:every|each) other ${DAY}\\b`), "a schedule does not count weeks; say 'the first and third Monday of the month', or every Monday"],
    [
      /\b(?:first|last|1st) (?:weekday|working day|business day)\b/,
      "a schedule knows no first or last working day; say 'the first Monday of the month' or a day of the month",
    ],
    [/\b(?:twice|three times|thrice|(?:2|3|4) times) (?:a|per|every) (?:day|week|month|hour)\b/, "it does not say when; name the times"],
    [/\b(?:starting|until|till|from now|beginning)\b(?! \d)/, "a schedule has no begin and no end; turn it on and off with svc schedule on and off"],
  ];
  for (const [pattern, reason] of no) if (spoken.find(pattern) !== null) throw spoken.unclear(reason);
}

/** `the first and third monday of the month`. */
function takeNth(spoken: Spoken, { nth }: Parts): void {
  const pattern = new RegExp(
    `(?<every>\\b(?:every|each) )?\\b(?<ordinals>${ORDINAL}(?: and (?:the )?${ORDINAL})*) (?<day>${DAY})\\b(?<of>${OF_MONTH}| (?:of|in) (?=${MONTH}))?`,
  );
  for (let found = spoken.take(pattern); found !== undefined; found = spoken.take(pattern)) {
    const { every, ordinals = "", day = "", of } = found;
    if (every !== undefined && of === undefined)
      throw spoken.unclear(`'${every}${ordinals} ${day}' may mean one of two or more weeks, or a day of the month; say '${ordinals} ${day} of the month'`);
    for (const word of ordinals.split(/ and (?:the )?/)) nth.push({ weekday: startOf(DAY_START, day), ordinal: ordinalOf(word) });
    spoken.understood(`the ${ordinals} ${NAMES[startOf(DAY_START, day)]} of the month`);
  }
}

/** Days of the month, and dates of the year. */
function takeDates(spoken: Spoken, { monthDays, months }: Parts): void {
  const year = spoken.find(/\b(?:20\d\d)\b/);
  if (year !== null) throw spoken.unclear(`a schedule repeats and knows no year, and it names ${year[0]}`);
  const dated = new RegExp(
    `\\b(?:(?<before>\\d{1,2})(?:st|nd|rd|th)?(?: of)? (?<month>${MONTH})|(?<month2>${MONTH})(?: the)? (?<after>\\d{1,2})(?:st|nd|rd|th)?(?![:.\\d]| ?[ap]m))\\b`,
  );
  for (let found = spoken.take(dated); found !== undefined; found = spoken.take(dated)) {
    const day = Number(found.before ?? found.after);
    const month = startOf(MONTH_START, found.month ?? found.month2 ?? "") + 1;
    if (day < 1 || day > new Date(Date.UTC(2024, month, 0)).getUTCDate()) throw spoken.unclear(`there is no day ${day} in that month`);
    if (months.size > 0 && !months.has(month)) throw spoken.unclear("it names dates in several months; make a schedule for each");
    monthDays.add(String(day));
    months.add(month);
    spoken.understood(`day ${day} of month ${month}`);
  }
  const lastDay = new RegExp(`\\b(?<which>last|first) day\\b${OF_MONTH}?`);
  for (let found = spoken.take(lastDay); found !== undefined; found = spoken.take(lastDay)) {
    monthDays.add(found.which === "last" ? "L" : "1");
    spoken.understood(`the ${found.which} day of the month`);
  }
  const numbered = new RegExp(
    `\\b(?:day )?(?<days>(?:${NUMBERED})(?: and (?:the )?(?:${NUMBERED}))*)(?: day)?\\b${OF_MONTH}?|\\bday (?<day>\\d{1,2})\\b${OF_MONTH}?`,
  );
  for (let found = spoken.take(numbered); found !== undefined; found = spoken.take(numbered)) {
    const days = (found.days ?? found.day ?? "").split(/ and (?:the )?/).map(ordinalOf);
    for (const day of days) {
      if (Number(day) < 1 || Number(day) > 31) throw spoken.unclear(`there is no day ${day} of a month`);
      monthDays.add(day);
    }
    spoken.understood(`day ${days.join(" and ")} of the month`);
  }
  const range = spoken.take(new RegExp(`\\b(?:in |from )?(?<first>${MONTH}) ?(?:to|through|-|until) ?(?<last>${MONTH})\\b`));
  if (range !== undefined) {
    const [first, last] = [startOf(MONTH_START, range.first ?? ""), startOf(MONTH_START, range.last ?? "")];
    for (let month = first; ; month = (month + 1) % 12) {
      months.add(month + 1);
      if (month === last) break;
    }
    spoken.understood(`${range.first} to ${range.last}`);
  }
  const month = new RegExp(`\\b(?<month>${MONTH})\\b`);
  for (let found = spoken.take(month); found !== undefined; found = spoken.take(month)) {
    months.add(startOf(MONTH_START, found.month ?? "") + 1);
    spoken.understood(found.month ?? "");
  }
}

function takeWeekdays(spoken: Spoken, { weekdays }: Parts): void {
  const add = (days: readonly number[], words: string) => {
    for (const day of days) weekdays.add(day);
    spoken.understood(words);
  };
  const range = new RegExp(`\\b(?:from )?(?<first>${DAY}) ?(?:to|through|thru|-|until) ?(?<last>${DAY})\\b`);
  for (let found = spoken.take(range); found !== undefined; found = spoken.take(range)) {
    const [first, last] = [startOf(DAY_START, found.first ?? ""), startOf(DAY_START, found.last ?? "")];
    if (first === last) throw spoken.unclear("its days begin and end on the same day");
    const days = [first];
    for (let day = first; day !== last; ) days.push((day = (day + 1) % 7));
    add(days, `${NAMES[first]} to ${NAMES[last]}`);
  }
  if (spoken.take(/\b(?:weekdays?|(?:working|work|business) ?days?)\b/) !== undefined) add([1, 2, 3, 4, 5], "Monday to Friday");
  if (spoken.take(/\bweekends?\b/) !== undefined) add([0, 6], "Saturday and Sunday");
  const one = new RegExp(`\\b(?<day>${DAY})\\b`);
  for (let found = spoken.take(one); found !== undefined; found = spoken.take(one)) {
    const day = startOf(DAY_START, found.day ?? "");
    add([day], NAMES[day] as string);
  }
}

function takeHowOften(spoken: Spoken, { every, months }: Parts): void {
  const named = spoken.take(/\b(?:every (?<count>\d+) months?|(?<quarter>quarterly|(?:every|each|of the) quarter))\b/);
  if (named !== undefined) {
    const step = named.quarter === undefined ? Number(named.count) : 3;
    if (12 % step !== 0) throw spoken.unclear(`${step} months do not divide a year evenly; name the months`);
    if (months.size > 0) throw spoken.unclear("it names months and an interval of months");
    for (let month = 1; month <= 12; month += step) months.add(month);
    every.add("month");
    spoken.understood(`every ${step} months from January on`);
  }
  const often: readonly (readonly ["day" | "week" | "month" | "year", RegExp])[] = [
    ["day", /\b(?:daily|(?:every|each) ?day|(?:every|each) (?=morning|afternoon|evening|night))\b ?/],
    ["week", /\b(?:weekly|(?:every|each) week)\b/],
    ["month", /\b(?:monthly|(?:every|each) month)\b/],
    ["year", /\b(?:yearly|annually|(?:every|each) year)\b/],
  ];
  for (const [unit, pattern] of often) {
    if (spoken.take(pattern) === undefined) continue;
    every.add(unit);
    spoken.understood(`every ${unit}`);
  }
}
