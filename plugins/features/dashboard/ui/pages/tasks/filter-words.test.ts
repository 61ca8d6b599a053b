import { expect, it } from "vitest";
import { filterLine, filterOf, readFilterLine, requestQuery, sinceOf } from "./filter-words.ts";

it("a filter line says what it narrows to, and is written again as it was meant", () => {
  for (const line of ["", "agent:foo", 'agent:foo state:failed channel:botmsg since:24h run:run_1 "two words"', '"one"', 'channel:"a b"']) {
    const { filter, wrong } = readFilterLine(line);
    expect(wrong).toBeUndefined();
    expect(filterLine(filter)).toBe(line);
    expect(filterOf(new URLSearchParams(filter as Record<string, string>))).toEqual(filter);
  }
  expect(readFilterLine("retry logic agent:foo").filter).toEqual({ agent: "foo", text: "retry logic" });
  expect(readFilterLine('agent: "open').filter).toEqual({ text: "open" });
});

it("says what it does not understand", () => {
  expect(readFilterLine("colour:red").wrong).toContain("colour:red");
  expect(readFilterLine("state:lost").wrong).toContain("timed-out");
  expect(readFilterLine("since:soon").wrong).toContain("24h");
});

it("a time is that long ago, or a date", () => {
  const now = Date.parse("2026-11-22T12:00:30Z");
  expect(sinceOf("2h", now)).toBe(Date.parse("2026-11-22T10:00:00Z"));
  expect(sinceOf("2026-11-01T10:00Z")).toBe(Date.parse("2026-11-01T10:00:00Z"));
  expect(sinceOf("2026-13-99")).toBeUndefined();
  expect(requestQuery({ agent: "foo", since: "1d" }, now).toString()).toBe(`agent=foo&since=${Date.parse("2026-11-21T12:00:00Z")}`);
});
