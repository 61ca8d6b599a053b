import { expect, it } from "vitest";
import { plain } from "./cli.ts";

it("SEC-m4 nothing of foreign text drives the terminal or turns its order round; tabs and lines stay", () => {
  const hostile = "a\u001b]0;OWNED\u0007b\u202egnp.exe\u2066x\u200f\u061c\u009b31m\u2028c\r";
  expect(plain(`${hostile}\n\td`)).toBe("a]0;OWNEDbgnp.exex31mc\n\td");
  expect(plain("שלום Ünï 東京 👩‍👩‍👧")).toBe("שלום Ünï 東京 👩‍👩‍👧");
});
