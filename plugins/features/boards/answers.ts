import { type Answers, listOf, objectOf, type RouteAnswer, recordOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const texts = listOf(text);
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const columnId: Schema = { type: "string", enum: ["triage", "todo", "doing", "on-hold", "review", "done"] };

const column = { id: columnId, title: text, kind: { type: "string", enum: ["open-backlog", "scoped-label", "closed", "label"] } } satisfies Record<
  string,
  Schema
>;
const BoardColumn = objectOf(column, { mapsToLabel: text });

const BoardLabel = objectOf({ name: text }, { color: text, description: text });

const change = objectOf({}, { addLabels: texts, removeLabels: texts, state: { type: "string", enum: ["open", "closed"] } });

const Board = objectOf({
  id: text,
  name: text,
  source: objectOf({ type: text, projects: texts }),
  available: { type: "boolean", description: "A plugin that runs brings the source" },
  movable: flag,
  labels: listOf(BoardLabel),
  columns: listOf(BoardColumn),
  changes: { ...recordOf(recordOf(change)), description: "What a move writes, by the column that is left, then by the one that is entered" },
  timeRangeDays: count,
  closedWindowDays: count,
});

const BoardCard = objectOf(
  { id: text, column: { anyOf: [columnId, { type: "null" }] }, title: text, labels: texts, assignees: texts, agents: texts, updatedAt: time },
  { closedAt: time, project: text, url: text },
);

const BoardItems = objectOf({
  board: text,
  readAt: time,
  columns: listOf(objectOf({ ...column, items: listOf(BoardCard) }, { mapsToLabel: text })),
  unplaced: listOf(BoardCard),
  truncated: flag,
});

const at = (base: string): Record<string, readonly RouteAnswer[]> => ({
  [`GET ${base}`]: [{ json: objectOf({ boards: listOf(Board) }) }],
  [`GET ${base}/:id/items`]: [{ json: BoardItems }],
  [`PATCH ${base}/:id/items/:itemId/move`]: [
    { json: objectOf({ board: text, item: BoardCard }) },
    { status: 409, json: objectOf({ error: text, code: text }, { item: BoardCard }) },
  ],
});

const answers: Answers = {
  schemas: { Board, BoardCard, BoardColumn, BoardItems, BoardLabel },
  routes: {
    ...at("/boards"),
    ...at("/api/boards"),
    "GET /api/board-labels": [{ json: objectOf({ labels: listOf(BoardLabel), columns: listOf(BoardColumn) }) }],
  },
};

export default answers;
