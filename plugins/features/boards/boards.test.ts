import { createFakeContext } from "@svc/sdk/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { COLUMN_IDS, type Column, changeOf, columnsOf, placeOf } from "./columns.ts";
import boards from "./index.ts";
import type { ColumnSettings } from "./settings.ts";

const FLAT: readonly ColumnSettings[] = COLUMN_IDS.map((id) =>
  id === "triage" || id === "done" ? { id } : id === "on-hold" ? { id, kind: "label", mapsToLabel: "blocked" } : { id, mapsToLabel: `flow::${id}` },
);
const FREE = ["area::web", "bug", "status", "flow", "flow::sub::todo", "x::flow::todo"];

/** The card after a change, as any source makes it. */
function changed(card: { state: "open" | "closed"; labels: string[] }, { addLabels = [], removeLabels = [], state = card.state }: ReturnType<typeof changeOf>) {
  return { state, labels: [...new Set([...card.labels.filter((label) => !removeLabels.includes(label)), ...addLabels])] };
}

it("BRD-02 a card that is moved along any way is in the column it entered, and keeps each label that no column maps", () => {
  for (const columns of [columnsOf(), columnsOf(FLAT)]) {
    const mapped = columns.flatMap(({ label }) => (label === undefined ? [] : [label]));
    fc.assert(
      fc.property(fc.subarray(FREE), fc.array(fc.nat(columns.length - 1), { maxLength: 12 }), (labels, way) => {
        let card = { state: "open" as "open" | "closed", labels };
        for (const step of way) {
          const [from, to] = [placeOf(card, columns), columns[step]] as [Column, Column];
          if (from.id === to.id) continue;
          const change = changeOf(from, to, columns);
          for (const label of [...(change.addLabels ?? []), ...(change.removeLabels ?? [])]) expect(mapped).toContain(label);
          card = changed(card, change);
          expect(placeOf(card, columns)?.id).toBe(to.id);
          expect(card.labels.filter((label) => !mapped.includes(label)).sort()).toEqual([...labels].sort());
        }
      }),
    );
  }
});

it("an open card with a label of the scope that no column maps is in none, and enters any", () => {
  const columns = columnsOf();
  const blocked = { state: "open" as const, labels: ["status::blocked"] };
  expect(placeOf(blocked, columns)).toBeUndefined();
  expect(placeOf({ ...blocked, labels: ["status::blocked", "status::doing"] }, columns)?.id).toBe("doing");
  expect(placeOf({ ...blocked, state: "closed" }, columns)?.id).toBe("done");
});

it("a card leaves a column whose label is of another scope, too", () => {
  const columns = columnsOf(COLUMN_IDS.map((id) => (id === "triage" || id === "done" ? { id } : { id, mapsToLabel: `${id}::yes` })));
  const [, todo, doing] = columns as [Column, Column, Column];
  const card = changed({ state: "open", labels: ["todo::yes", "area::web"] }, changeOf(todo, doing, columns));
  expect([placeOf(card, columns)?.id, card.labels]).toEqual(["doing", ["area::web", "doing::yes"]]);
});

it("registers the routes of the daemon and of the dashboard, each with its guard", () => {
  const context = createFakeContext(boards as never);
  boards.setup(context as never);
  expect(context.registered.routes.map(({ server = "daemon", method, path, guard }) => `${server} ${method} ${path} ${guard}`)).toEqual([
    "dashboard GET /api/board-labels scope:dashboard:write",
    "daemon GET /boards loopback",
    "daemon GET /boards/:id/items loopback",
    "daemon PATCH /boards/:id/items/:itemId/move loopback",
    "dashboard GET /api/boards scope:dashboard:read",
    "dashboard GET /api/boards/:id/items scope:dashboard:read",
    "dashboard PATCH /api/boards/:id/items/:itemId/move scope:dashboard:write",
  ]);
});
