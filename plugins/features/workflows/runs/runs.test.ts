import { expect, it } from "vitest";
import { definitionOf, stage } from "./runs.harness.ts";

it("a run of kinds without an effect is stored with one commit, and is over when it was started", async () => {
  const add = definitionOf(
    "add",
    [
      { id: "sum", kind: "set", value: "{{ input.a + input.b }}" },
      { id: "big", kind: "branch", cases: [{ port: "yes", when: "{{ in > 10 }}" }] },
      { id: "many", kind: "end", output: { many: "{{ in }}" } },
      { id: "few", kind: "end", output: { few: "{{ steps.sum.output }}" } },
    ],
    "start > sum, sum > big, big.yes > many, big.else > few",
  );
  const { runs, start, entriesOf, ctx } = await stage({ definitions: [add] });
  const { runId, status } = await start("add", { a: 4, b: 5 });
  expect(status).toBe("completed");
  expect(await runs.run(runId)).toMatchObject({ output: { few: 9 }, context: { sum: 9 }, waits: [] });
  const entries = await entriesOf(runId);
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
  expect(ctx.events.published.map(({ kind, type }) => `${kind}:${type}`)).toEqual([
    "run:created",
    "run:ok",
    "run:ok",
    "run:skipped",
    "run:ok",
    "run:completed",
  ]);
  expect(new Set(ctx.events.published.map(({ rootId }) => rootId)).size).toBe(1);
  expect(ctx.events.published.map(({ id }) => id)).toEqual(expect.arrayContaining([`${runId}:1`]));
});
