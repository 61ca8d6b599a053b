import { describe, expect, it } from "vitest";
import type { Board, WorkItem } from "../board.ts";
import { type BoardSubject, boardContract } from "./board-contract.ts";

const LABELS = ["bug", "doing"];

/** A source in memory that keeps its promises. */
function createBoard(): Board {
  const items = new Map<string, WorkItem>(
    [1, 2, 3].map((n) => [`${n}`, { id: `${n}`, title: `Item ${n}`, state: "open", labels: ["bug"], updatedAt: 1_000 - n, text: "Long." }]),
  );
  return {
    name: "memory",
    async list({ state, labels = [], since = 0, limit = 100 }) {
      const fits = (item: WorkItem) => (state ?? item.state) === item.state && item.updatedAt >= since && labels.every((label) => item.labels.includes(label));
      return [...items.values()]
        .filter(fits)
        .sort((left, right) => right.updatedAt - left.updatedAt)
        .slice(0, limit)
        .map(({ text: _, ...item }) => item);
    },
    get: async (id) => items.get(id),
    labels: async () => LABELS.map((name) => ({ name, color: "#428BCA" })),
    async update(id, { addLabels = [], removeLabels = [], state }) {
      const item = items.get(id);
      if (item === undefined) throw Object.assign(new Error("no such item"), { status: 404 });
      if (addLabels.some((label) => !LABELS.includes(label))) throw Object.assign(new Error("no such label"), { status: 422 });
      const labels = [...new Set([...item.labels, ...addLabels])].filter((label) => !removeLabels.includes(label));
      const next = { ...item, labels, state: state ?? item.state };
      items.set(id, next);
      return next;
    },
  };
}

const subject = (changed: (board: Board) => Partial<Board> = () => ({})): BoardSubject => {
  const board = createBoard();
  return { board: { ...board, ...changed(board) }, open: ["1", "2"], label: "doing" };
};

boardContract({ describe, it }, () => subject());

async function failures(changed: (board: Board) => Partial<Board>): Promise<string[]> {
  const tests: [string, () => Promise<void>][] = [];
  boardContract({ describe: (_, define) => define(), it: (name, run) => void tests.push([name, run]) }, () => subject(changed));
  const failed: string[] = [];
  for (const [name, run] of tests) await run().catch(() => failed.push(name));
  return failed;
}

/** Sets the state first and the labels then: what refuses the labels has changed the state. */
const halved = (board: Board): Partial<Board> => ({
  async update(id, { state, ...change }, signal) {
    await board.update!(id, state === undefined ? {} : { state }, signal);
    return board.update!(id, change, signal);
  },
});

describe("the board contract catches", () => {
  it.each<[string, (board: Board) => Partial<Board>, RegExp]>([
    ["a name in capitals", () => ({ name: "Board" }), /named in lower case/],
    ["items out of order", (board) => ({ list: async (query, signal) => [...(await board.list(query, signal))].reverse() }), /last updated first/],
    [
      "an item that is listed twice",
      (board) => ({ list: async (query, signal) => [...(await board.list(query, signal)), ...(await board.list(query, signal))] }),
      /each item once/,
    ],
    ["a limit that is ignored", (board) => ({ list: ({ limit: _, ...query }, signal) => board.list(query, signal) }), /narrows/],
    ["labels that are ignored", (board) => ({ list: ({ labels: _, ...query }, signal) => board.list(query, signal) }), /narrows/],
    [
      "an item that is made up",
      (board) => ({ get: async (id, signal) => (await board.get(id, signal)) ?? (await board.get("1", signal)) }),
      /none where the source has none/,
    ],
    ["a label that is not known", () => ({ labels: async () => [{ name: "bug" }] }), /knows each label/],
    ["a label that is known twice", () => ({ labels: async () => [...LABELS, "bug"].map((name) => ({ name })) }), /knows each label/],
    [
      "labels that are replaced",
      (board) => ({ update: async (id, change, signal) => board.update!(id, { ...change, removeLabels: ["bug", ...(change.removeLabels ?? [])] }, signal) }),
      /keeps its other labels/,
    ],
    ["half a change", halved, /changes nothing where one is refused/],
    [
      "a change of nothing",
      (board) => ({
        update: async (id, change, signal) => ((await board.get(id, signal)) === undefined ? (undefined as never) : board.update!(id, change, signal)),
      }),
      /404/,
    ],
  ])("%s", async (_what, changed, name) => {
    expect(await failures(changed)).toContainEqual(expect.stringMatching(name));
  });

  it("and lets a board be read only", async () => {
    expect(await failures(() => ({ update: undefined }) as never)).toEqual([]);
  });
});
