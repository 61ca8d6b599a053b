import { describe, expect, it } from "vitest";
import { codingsOf, isKnown, rangeOf } from "./file-request.ts";

const VERSION = { etag: '"abc"', modified: Date.parse("2026-01-02T03:04:05.678Z") };
const SAME = "Fri, 02 Jan 2026 03:04:05 GMT";
const EARLIER = "Fri, 02 Jan 2026 03:04:04 GMT";

describe("what a request for a file says", () => {
  it.each([
    ["bytes=0-0", { first: 0, last: 0 }],
    ["bytes=2-5", { first: 2, last: 5 }],
    ["bytes=2-", { first: 2, last: 9 }],
    ["bytes=2-100", { first: 2, last: 9 }],
    ["bytes=-3", { first: 7, last: 9 }],
    ["bytes=-30", { first: 0, last: 9 }],
    ["bytes=10-", "unsatisfiable"],
    ["bytes=10-11", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
    ...["", "bytes=-", "bytes=5-2", "bytes=0-1,3-4", "bytes=a-b", "lines=0-1", "bytes=0x0-1", `bytes=${"9".repeat(16)}-`].map(
      (odd) => [odd, undefined] as const,
    ),
  ] as const)("the range %s of ten bytes is %o", (range, expected) => {
    expect(rangeOf({ range }, VERSION, 10)).toEqual(expected);
  });

  it("a part of another version is not given: the whole is", () => {
    const part = { first: 0, last: 0 };
    for (const [only, expected] of Object.entries({
      '"abc"': part,
      [SAME]: part,
      '"abd"': undefined,
      'W/"abc"': undefined,
      [EARLIER]: undefined,
      odd: undefined,
    }))
      expect([only, rangeOf({ range: "bytes=0-0", "if-range": only }, VERSION, 10)]).toEqual([only, expected]);
  });

  it("of an empty file there is no part", () => {
    for (const range of ["bytes=0-0", "bytes=0-", "bytes=-1"]) expect(rangeOf({ range }, VERSION, 0)).toBe("unsatisfiable");
  });

  it("a version is known by any of the tags, by time only without one", () => {
    for (const [tags, expected] of Object.entries({ '"abc"': true, 'W/"abc"': true, '"x", "abc"': true, "*": true, '"x"': false, abc: false, "": false }))
      expect([tags, isKnown({ "if-none-match": tags, "if-modified-since": SAME }, VERSION)]).toEqual([tags, expected]);
    for (const [since, expected] of Object.entries({ [SAME]: true, "Sat, 03 Jan 2026 00:00:00 GMT": true, [EARLIER]: false, odd: false }))
      expect([since, isKnown({ "if-modified-since": since }, VERSION)]).toEqual([since, expected]);
    expect(isKnown({}, VERSION)).toBe(false);
  });

  it.each([
    ["br, gzip", ["br", "gzip"]],
    ["gzip, deflate, br;q=0.1", ["br", "gzip"]],
    ["GZIP", ["gzip"]],
    ["*", ["br", "gzip"]],
    ["*;q=0.5, br;q=0", ["gzip"]],
    ["br;q=0, gzip;q=0.000", []],
    ["identity", []],
    ["brotli, gzipped", []],
    ["br;q=x", []],
    ["", []],
  ])("the codings '%s' are %o", (accepted, expected) => {
    expect(codingsOf({ "accept-encoding": accepted })).toEqual(expected);
    expect(codingsOf({ "accept-encoding": accepted, range: "bytes=0-1" })).toEqual([]);
  });

  it("without a word about codings there is none", () => {
    expect(codingsOf({})).toEqual([]);
  });
});
