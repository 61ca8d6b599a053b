import { describe, expect, it } from "vitest";
import { readText, storedField, storedKey, storedText } from "./text.ts";

const TEXTS = ["", "\0", "\0\0", "\0a", "\u0001", "\u0001\u0001", "\u0001b", "\u0002", "a", "a\0", "a\u0001", "a\u0002", "ü", "\u{1F600}"];
const bytes = (text: string) => Buffer.from(text);

describe("texts that a server knows", () => {
  it("have no NUL, are read back as they were, and keep their order", () => {
    for (const text of TEXTS) {
      expect(storedText(text)).not.toContain("\0");
      expect(readText(storedText(text))).toBe(text);
    }
    const ordered = [...TEXTS].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
    expect([...TEXTS].sort((a, b) => Buffer.compare(bytes(storedText(a)), bytes(storedText(b))))).toEqual(ordered);
  });

  it("of a field are cut where they are long, and still told apart", () => {
    const long = "x".repeat(100_000);
    expect(String(storedField(long)).length).toBeLessThan(400);
    expect(storedField(long)).not.toBe(storedField(`${long}y`));
    expect(storedField(long)).toBe(storedField(long));
    expect(storedField(7)).toBe(7);
  });

  it("as keys are refused where they are long", () => {
    expect(storedKey("c", "k".repeat(1_500))).toHaveLength(1_500);
    expect(() => storedKey("c", "ü".repeat(1_000))).toThrow("longer than 1500 bytes");
  });
});
