import { qrPicture } from "@svc/sdk";
import { expect, it } from "vitest";
import { plain, plainButColours } from "./cli.ts";

it("SEC-m4 nothing of foreign text drives the terminal or turns its order round; tabs and lines stay", () => {
  const hostile = "a\u001b]0;OWNED\u0007b\u202egnp.exe\u2066x\u200f\u061c\u009b31m\u2028c\r";
  expect(plain(`${hostile}\n\td`)).toBe("a]0;OWNEDbgnp.exex31mc\n\td");
  expect(plain("שלום Ünï 東京 👩‍👩‍👧")).toBe("שלום Ünï 東京 👩‍👩‍👧");
});

it("SEC-S7 what is said beside the output keeps a picture's colours and no other sequence", () => {
  const picture = qrPicture({ size: 1, isDark: () => true }, { colours: true });
  expect(plainButColours(picture)).toBe(picture);
  expect(plainButColours("problem: it said \u001b]0;OWNED\u0007\u001b[2J\u001b[1G\u001b[8mup")).toBe("problem: it said ]0;OWNED[2J[1G[8mup");
});
