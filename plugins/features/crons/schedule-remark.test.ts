import { expect, it } from "vitest";
import { remarkOn } from "./schedule-remark.ts";

it("an expression of which no day comes in any year is told", () => {
  for (const schedule of ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 feb *", "0 0 31 jun *"]) expect(remarkOn(schedule), schedule).toMatch(/^never comes/);
  for (const schedule of [
    "0 0 29 2 *",
    "0 0 30 2,* *",
    "0 0 30,* 2 *",
    "0 0 31 1,2 *",
    "0 0 30 2 fri",
    "0 0 L 2 *",
    "0 0 30,L 2 *",
    "0 0 * 2 fri#5",
    "0 0 31 4-6 *",
    "0 0 31 2/3 *",
    "*/5 9-17 * * 1-5",
  ])
    expect(remarkOn(schedule), schedule).toBeUndefined();
});

it("a step beyond the values of its field is told", () => {
  expect(remarkOn("*/61 * * * *")).toBe("has a step of 61 in the field minute, which has 60 values: only the first one counts");
  expect(remarkOn("0 1,*/25 * * *")).toContain("hour");
  expect(remarkOn("*/60 */24 */31 */12 */7")).toBeUndefined();
});
