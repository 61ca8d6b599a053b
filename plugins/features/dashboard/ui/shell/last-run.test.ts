import { expect, it } from "vitest";
import { type LastRun, lastRun } from "./last-run.ts";

it("the palette says of a workflow how its newest run is, and that it waits where it waits for a person", () => {
  const said = (...runs: LastRun[]) => lastRun(runs);
  expect([said(), lastRun(undefined)]).toEqual([undefined, undefined]);
  expect(said({ status: "running" }, { status: "failed" })).toEqual({ note: "last run running", state: "running" });
  expect(said({ status: "running", waitsForPerson: true }, { status: "failed" })).toEqual({ note: "last run waiting", state: "waiting" });
  expect(said({ status: "failed" }, { status: "running", waitsForPerson: true })).toEqual({ note: "last run failed", state: "failed" });
});
