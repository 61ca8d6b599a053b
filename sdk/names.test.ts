import { expect, it } from "vitest";
import { coversName } from "./names.ts";

it.each([
  ["http.fetch", "http.fetch", true],
  ["http.fetch", "http.fetch2", false],
  ["http.*", "http.fetch", true],
  ["http.*", "httpXfetch", false],
  ["*", "", true],
  ["*.fetch", "http.fetch", true],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["*a*b*", "xxaxxbxx", true],
  ["*a*b*", "xxbxxa", false],
  ["*ab*b", "ab", false],
  ["", "x", false],
])("the pattern %j on %j: %s", (pattern, name, covered) => {
  expect(coversName([pattern], name)).toBe(covered);
  expect(coversName([], name)).toBe(false);
  expect(coversName(["never", pattern], name)).toBe(covered);
});
