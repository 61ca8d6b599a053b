import { expect, it } from "vitest";
import { readCard } from "./generation.ts";
import { readResult } from "./wire.ts";

it.each([
  null,
  7,
  "x",
  [],
  {},
  { status: 7 },
  { artifact: null },
  { kind: "status-update" },
  { artifacts: [null, { parts: "x" }] },
  { statusUpdate: { status: { state: 7 } } },
])("what makes no sense from a server says nothing: %j", (value) => {
  expect(readResult(value).pieces.every(({ text }) => text === "")).toBe(true);
});

it.each([null, 7, "x", [], {}, { supportedInterfaces: "x" }, { supportedInterfaces: [null] }, { url: 7, protocolVersion: 7 }])(
  "a card that makes no sense names no address: %j",
  (value) => {
    expect(readCard(value)).toMatchObject({ streaming: false });
    expect(readCard(value).address).toBeUndefined();
  },
);
