import { describe, expect, it } from "vitest";
import { readPhrase, splitPhrase } from "./phrase.ts";
import { momentIn } from "./phrase-once.ts";
import { inZone, understand } from "./understand.ts";

const refusal = (phrase: string): { code?: string; message: string } => {
  try {
    readPhrase(phrase);
  } catch (error) {
    return error as { code: string; message: string };
  }
  return { message: "it was taken" };
};

describe("phrases that mean one schedule", () => {
  it.each([
    ["every weekday at 9 in Athens", "0 9 * * 1-5", "Europe/Athens"],
    ["first monday of the month at 18:30", "30 18 * * 1#1"],
    ["every 15 minutes", "*/15 * * * *"],
    ["daily at 7am Europe/Berlin", "0 7 * * *", "Europe/Berlin"],
    ["Every day at 9.", "0 9 * * *"],
    ["mondays and thursdays at 8:15", "15 8 * * 1,4"],
    ["on Monday, Wednesday and Friday at noon", "0 12 * * 1,3,5"],
    ["monday to friday at 9 in São Paulo", "0 9 * * 1-5", "America/Sao_Paulo"],
    ["friday to monday at 9", "0 9 * * 0,1,5,6"],
    ["every two hours", "0 */2 * * *"],
    ["hourly", "0 * * * *"],
    ["every minute", "* * * * *"],
    ["every half hour", "*/30 * * * *"],
    ["every quarter of an hour", "*/15 * * * *"],
    ["every hour at :15", "15 * * * *"],
    ["every hour at quarter past", "15 * * * *"],
    ["every hour at 5 minutes past the hour", "5 * * * *"],
    ["every 15 minutes between 9 and 17 on weekdays", "*/15 9-16 * * 1-5"],
    ["every hour from 9am to 5pm", "0 9-17 * * *"],
    ["every 2 hours between 8:30 and 18:30", "30 8-18/2 * * *"],
    ["last friday of the month at 4pm New York time", "0 16 * * 5#L", "America/New_York"],
    ["second and fourth tuesday of the month at 10", "0 10 * * 2#2,2#4"],
    ["on the 1st and 15th of every month at 6", "0 6 1,15 * *"],
    ["last day of the month at 23:45", "45 23 L * *"],
    ["monthly on day 3 at 4:05", "5 4 3 * *"],
    ["every year on 24 december at 8pm", "0 20 24 12 *"],
    ["annually on May 1st at 9", "0 9 1 5 *"],
    ["every quarter on the first day at 6am", "0 6 1 1,4,7,10 *"],
    ["every 6 months on the 2nd at 6", "0 6 2 1,7 *"],
    ["every weekday at 9 in june and july", "0 9 * 6,7 1-5"],
    ["every day at 9 from november to february", "0 9 * 1,2,11,12 *"],
    ["every day at 9 and 17", "0 9,17 * * *"],
    ["every day at 9:30 and 17:30", "30 9,17 * * *"],
    ["every sunday 9am and 9pm", "0 9,21 * * 0"],
    ["every morning at 7", "0 7 * * *"],
    ["every evening at 8", "0 20 * * *"],
    ["every friday at 5 in the afternoon", "0 17 * * 5"],
    ["every day at half past 8", "30 8 * * *"],
    ["quarter to 9 every weekday", "45 8 * * 1-5"],
    ["weekends at 10:30 UTC", "30 10 * * 0,6", "UTC"],
    ["every day at midnight in Kolkata", "0 0 * * *", "Asia/Kolkata"],
    ["every day at 12am", "0 0 * * *"],
    ["every day at 12pm", "0 12 * * *"],
    ["0 9 * * 1-5 Europe/Berlin", "0 9 * * 1-5", "Europe/Berlin"],
    ["*/5 * * * *", "*/5 * * * *"],
    ["30 18 L * fri#L", "30 18 L * fri#L"],
  ])("%s", (phrase, expression, timezone?: string) => {
    expect(readPhrase(phrase)).toMatchObject({ expression, ...(timezone === undefined ? {} : { timezone }) });
    if (timezone === undefined) expect(readPhrase(phrase)).not.toHaveProperty("timezone");
  });

  it("says what it means in words", () => {
    expect(readPhrase("every 15 minutes between 9 and 17 on weekdays in Athens").words).toBe(
      "every 15 minutes from 09:00 to 16:45, both included on Monday to Friday, Europe/Athens",
    );
    expect(readPhrase("first and third monday of the month at 6pm").words).toBe("at 18:00 on the first Monday and third Monday of the month");
  });

  it("what is to be done stands behind a colon that is no time's", () => {
    expect(splitPhrase("every weekday at 9:30 in Athens: read: the mail")).toEqual({ when: "every weekday at 9:30 in Athens", what: "read: the mail" });
    expect(splitPhrase("every hour at :15")).toEqual({ when: "every hour at :15", what: "" });
  });
});

describe("phrases that are refused, with what was understood", () => {
  it.each([
    ["at 9", /how often\?.*Understood: 09:00/],
    ["every monday", /at what time of day\?.*Understood: Monday/],
    ["every month at 9", /which day of the month/],
    ["every week at 9", /which day of the week/],
    ["every year at 9", /on which days/],
    ["in june at 9", /on which days/],
    ["friday at 10", /one day or each of them/],
    ["24 december at 8", /one day or each of them/],
    ["every second monday at 9", /may mean one of two or more weeks/],
    ["every other day at 9", /does not count days/],
    ["every 3 days at 9", /does not count days/],
    ["every other friday at 9", /first and third Monday/],
    ["fortnightly on friday at 9", /does not count days or weeks/],
    ["first weekday of the month at 9", /no first or last working day/],
    ["every day on monday at 9", /every day and names days/],
    ["every monday and the 15th of the month at 9", /both weekdays and days of a month/],
    ["friday the 13th at 9 every month", /both weekdays and days of a month/],
    ["every 45 minutes", /do not divide an hour evenly.*15, 20, 30 minutes/],
    ["every 5 hours", /do not divide a day evenly/],
    ["every 0 minutes", /do not divide/],
    ["every 15 minutes at 9", /both an interval and a time of day/],
    ["every day at 9:00 and 17:30", /differ in their minutes/],
    ["every day at 25:00", /'25:00' is no time of day/],
    ["every day at 13pm", /am and pm take hours from 1 to 12/],
    ["every morning at 18:00", /not in the morning/],
    ["every night at 9", /before or after midnight/],
    ["every day at 9 in Munich", /no time zone is named after 'munich'/],
    ["every day at 9 EST", /several time zones/],
    ["every day at 9 local time", /name a place/],
    ["every day at 9 Mars/Olympus", /no time zone 'mars\/olympus'/],
    ["every weekday at 9 except holidays", /no exceptions/],
    ["every day at 9 until friday", /no begin and no end/],
    ["twice a day", /does not say when/],
    ["every 31st of february at 9", /no day 31 in that month/],
    ["every 24 december 2027 at 9", /knows no year/],
    ["every day at 9 sharpish", /'sharpish' is not understood.*Understood: every day, 09:00/],
    ["hello world", /'hello world' is not understood/],
    ["", /neither when nor how often/],
  ])("%s", (phrase, words) => {
    expect(refusal(phrase)).toMatchObject({ code: "SVC_SCHEDULE_UNCLEAR", message: expect.stringMatching(words) });
  });

  const now = new Date("2026-11-22T10:00:00Z");
  it.each([
    ["tomorrow at 9", "2026-11-23 09:00"],
    ["next friday at 10", "2026-11-27 10:00"],
    ["24 december at 8pm", "2026-12-24 20:00"],
  ])("%s is one moment", (phrase, moment) => {
    expect(momentIn(phrase, "UTC", now)).toBe(moment);
  });

  it("a phrase that repeats, and a bare time of day, are no moments", () => {
    for (const phrase of ["every friday at 10 or so", "at 9", "hello"]) expect(momentIn(phrase, "UTC", now)).toBeUndefined();
  });

  it("says of a moment that it comes once; refuses a second zone and what never comes", async () => {
    const next = async (expression: string) => (expression.startsWith("0 9 31") ? [] : [now]);
    await expect(understand("tomorrow at 9", next)).rejects.toMatchObject({ code: "SVC_SCHEDULE_ONCE", message: expect.stringMatching(/which comes once/) });
    await expect(understand("hello world", next)).rejects.toMatchObject({ code: "SVC_SCHEDULE_UNCLEAR" });
    await expect(understand("every day at 9 in Athens", next, "Europe/Berlin")).rejects.toMatchObject({ code: "SVC_SCHEDULE_ZONE" });
    await expect(understand("0 9 31 2 *", next)).rejects.toMatchObject({ code: "SVC_SCHEDULE_NEVER" });
    expect(await understand("every day at 9", next, "Europe/Berlin")).toMatchObject({
      timezone: "Europe/Berlin",
      words: "at 09:00 every day, Europe/Berlin",
      next: [now],
    });
  });

  it("tells the hour that comes twice apart by its offset", () => {
    const times = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"].map((time) => inZone(new Date(time), "Europe/Berlin"));
    expect(times).toEqual(["Sun, 25 Oct 2026, 02:30 GMT+2", "Sun, 25 Oct 2026, 02:30 GMT+1"]);
  });
});
