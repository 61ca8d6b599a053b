import { expect, it } from "vitest";
import { read } from "./house.ts";

/** The numbered steps of the drawing at the top of a file: ` *   3 queue     what happens there`. */
const drawn = (source: string): string[] => [...source.slice(0, source.indexOf("*/")).matchAll(/^ \* {3}\d+ (\w+) /gm)].map(([, name]) => name as string);

/** The public methods of the file's class, in the order in which they are written. */
const methods = (source: string): string[] => [...source.matchAll(/^ {2}(?:async )?(\w+)(?:<\w+>)?\(.*\{$/gm)].map(([, name]) => name as string);

it("each step that the drawing of pipeline.ts names is a method of its class, and they stand in the drawing's order", () => {
  const source = read("kernel/core/flow/pipeline.ts");
  const steps = drawn(source);
  expect(steps).toEqual(["accept", "advance", "queue", "work", "finish"]);
  expect(methods(source).filter((name) => steps.includes(name))).toEqual(steps);
});

it("the drawing is found and a renamed step is seen", () => {
  const source =
    "/*\n *   1 first     a thing\n *   2 second    another\n */\nclass A {\n  first(): void {\n  }\n  async other<T>(x: T): Promise<void> {\n  }\n}\n";
  expect(drawn(source)).toEqual(["first", "second"]);
  expect(methods(source)).toEqual(["first", "other"]);
});
