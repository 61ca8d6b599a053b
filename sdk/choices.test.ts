import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { choiceData, choiceOf, whyNoChoices } from "./choices.ts";

describe("choices", () => {
  it("K27 what a button carries fits the narrowest platform and is read back", () => {
    for (let n = 0; n < 200; n += 1) {
      const delivery = `out_${randomUUID()}`;
      const data = choiceData(delivery, "a".repeat(32));
      expect(Buffer.byteLength(data)).toBeLessThanOrEqual(60);
      expect(choiceOf(data)).toEqual({ delivery, id: "a".repeat(32) });
    }
  });

  it("K27 other data is nobody's choice", () => {
    const data = choiceData(`out_${randomUUID()}`, "yes");
    for (const other of ["", "0.1", "yes", data.slice(1), `${data}!`, data.replace(".", ":"), `${data.slice(0, 21)}/.yes`, "AAAAAAAAAAAAAAAAAAAAAB.yes"])
      expect(choiceOf(other), other).toBeUndefined();
    expect(() => choiceData("task_1", "yes")).toThrow(/no id of a delivery/);
  });

  it("K27 says in words why choices cannot be offered", () => {
    const yes = { id: "yes", label: "Yes" };
    expect(whyNoChoices([yes])).toBeUndefined();
    expect(whyNoChoices(Array.from({ length: 8 }, (_, n) => ({ id: `c${n}`, label: `👍${n}` })))).toBeUndefined();
    expect(whyNoChoices([])).toMatch(/1 to 8/);
    expect(whyNoChoices(Array.from({ length: 9 }, (_, n) => ({ id: `c${n}`, label: "x" })))).toMatch(/1 to 8/);
    expect(whyNoChoices([yes, { ...yes }])).toMatch(/same id/);
    for (const id of ["", "Yes", "a b", "a".repeat(33)]) expect(whyNoChoices([{ id, label: "x" }])).toMatch(/id/);
    for (const label of ["", "  ", "two\nlines", "x".repeat(65)]) expect(whyNoChoices([{ id: "a", label }])).toMatch(/label/);
  });
});
