import { describe, expect, it } from "vitest";
import { redacted } from "./redacted.ts";

describe("what is shown of a memory", () => {
  it("has no credential: by the shapes of vendors, and behind a telling name", () => {
    for (const secret of [
      "sk-proj-abcdefghijklmnop1234",
      "sk-ant-api03-abcdefghijklmnop1234",
      `ghp_${"a".repeat(36)}`,
      "xoxb-1234567890-abcdefghij",
      "my-very-long-name-of-an-api-key: hunter2hunter2",
      'password = "correct horse"',
      "Authorization: Bearer abcdefgh12345678",
      `eyJ${"a".repeat(40)}.${"b".repeat(40)}.${"c".repeat(40)}`,
      // With a chain of certificates in its header.
      `eyJ${"a".repeat(6_000)}.${"b".repeat(40)}.${"c".repeat(40)}`,
    ]) {
      const { text, count } = redacted(`before ${secret} after`);
      expect(count, secret).toBe(1);
      expect(text).toContain("[redacted]");
      expect(text.startsWith("before ")).toBe(true);
    }
    expect(redacted("a key question: who holds the token ring? sk-8 board")).toEqual({
      text: "a key question: who holds the token ring? sk-8 board",
      count: 0,
    });
  });

  // Searched without a bound, each of them took over 30 s: longer than a test may.
  it("is found in little time whatever an agent wrote", () => {
    for (const text of ["a-".repeat(65_000), "sk-".repeat(43_000), "token".repeat(26_000), "sk-a_".repeat(26_000), "-eyJ".repeat(32_000), "eyJ".repeat(43_000)])
      expect(redacted(text).count).toBe(0);
  });
});
