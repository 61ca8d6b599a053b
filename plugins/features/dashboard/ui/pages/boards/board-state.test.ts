import { expect, it } from "vitest";
import { beginMove, columnOf, endMove, failMove, initialsOf, neighbour, numberOf, readState } from "./board-state.ts";
import type { BoardItems, Card } from "./board-types.ts";

const card = (id: string, column: string | null): Card => ({ id, column, title: id, labels: [], assignees: [], agents: [], updatedAt: 1 });
const column = (id: string, ...cards: string[]) => ({ id, title: id, kind: "label" as const, items: cards.map((one) => card(one, id)) });
const items: BoardItems = {
  board: "b",
  readAt: 1,
  columns: [column("triage", "a", "b", "c"), column("todo"), column("done", "d")],
  unplaced: [card("u", null)],
  truncated: false,
};
const COLUMNS = ["triage", "todo", "done"];
const move = (from: string, to: string, number = 1) => ({ from, to, number });

it("a card stands in its new column at once, and stays when the source says so", () => {
  const moved = beginMove(readState(items), "b", move("triage", "done"));
  expect(moved.order).toEqual({ triage: ["a", "c"], todo: [], done: ["b", "d"] });
  expect(moved.moves.has("b")).toBe(true);
  const ended = endMove(moved, "b", 1, { ...card("b", "done"), labels: ["x"] });
  expect(ended.order).toEqual(moved.order);
  expect([ended.moves.size, ended.cards.get("b")?.labels]).toEqual([0, ["x"]]);
  // The position of the source counts.
  expect(columnOf(endMove(moved, "b", 1, card("b", "todo")), "b")).toBe("todo");
  expect(endMove(moved, "b", 1, card("b", null)).unplaced).toEqual(["b", "u"]);
});

it("BRD-04 a card whose move failed goes back, or to where the source has it", () => {
  const moved = beginMove(readState(items), "b", move("triage", "done"));
  expect(columnOf(failMove(moved, "b", 1), "b")).toBe("triage");
  expect(columnOf(failMove(moved, "b", 1, card("b", "todo")), "b")).toBe("todo");
  expect(failMove(moved, "b", 1, card("b", null)).unplaced).toContain("b");
});

it("of two moves of one card the later decides, whatever comes first", () => {
  const twice = beginMove(beginMove(readState(items), "b", move("triage", "todo", 1)), "b", move("todo", "done", 2));
  expect(columnOf(failMove(twice, "b", 1), "b")).toBe("done");
  expect(columnOf(endMove(twice, "b", 1, card("b", "todo")), "b")).toBe("done");
  expect(columnOf(failMove(twice, "b", 2), "b")).toBe("todo");
});

it("a board that is read again while a card is moved shows it in its target", () => {
  const moved = beginMove(readState(items), "b", move("triage", "done"));
  const again = readState({ ...items, readAt: 2 }, moved);
  expect([again.readAt, columnOf(again, "b"), again.moves.size]).toEqual([2, "done", 1]);
  // A card that is gone takes its move with it.
  expect(readState({ ...items, columns: [column("triage", "a")] }, moved).moves.size).toBe(0);
});

it("arrows go from card to card, past columns without any", () => {
  const { order } = readState(items);
  expect(neighbour(order, COLUMNS, "b", "down")).toBe("c");
  expect(neighbour(order, COLUMNS, "a", "up")).toBeUndefined();
  expect(neighbour(order, COLUMNS, "c", "right")).toBe("d");
  expect(neighbour(order, COLUMNS, "d", "left")).toBe("a");
  expect(neighbour(order, COLUMNS, "d", "right")).toBeUndefined();
  expect(neighbour(order, COLUMNS, "u", "right")).toBeUndefined();
});

it("numbers and initials are short", () => {
  expect([numberOf("group/app#42"), numberOf("LINE-7")]).toEqual(["#42", "LINE-7"]);
  expect([initialsOf("anna"), initialsOf("Rita van Dam"), initialsOf("山田 太郎"), initialsOf("")]).toEqual(["AN", "RV", "山太", ""]);
});
