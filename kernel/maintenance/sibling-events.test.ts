import type { Envelope } from "@svc/sdk";
import { expect, it } from "vitest";
import { createBus } from "../core/bus/index.ts";
import { createSiblingEvents } from "./sibling-events.ts";

it("what happens while the store is asked is handed over by the next call, under the next number; a failed call is made again", async () => {
  const bus = createBus({ node: "n1", ringSize: 10, onListenerError: () => {} });
  const say = (summary: string) => bus.publish({ kind: "signal", type: "emitted", summary });
  const calls: [number, string[]][] = [];
  let during = () => {};
  const exchange = async (first: number, values: readonly string[]) => {
    calls.push([first, values.map((value) => (JSON.parse(value) as Envelope).summary)]);
    await Promise.resolve();
    during();
    return [];
  };
  const look = createSiblingEvents({ exchange, bus, log: { warn: () => {} } as never });
  say("a");
  during = () => say("b");
  await look();
  during = () => {
    say("c");
    throw new Error("the line broke");
  };
  await look();
  during = () => {};
  await look();
  await look();
  expect(calls).toEqual([
    [1, ["a"]],
    [2, ["b"]],
    [2, ["b", "c"]],
    [4, []],
  ]);
});
