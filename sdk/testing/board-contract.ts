import assert from "node:assert/strict";
import type { Board, WorkItem } from "../board.ts";
import { inTime, type Runner } from "./runner.ts";

/** Subject of `boardContract`; created afresh for each test, with a fake platform that has the same content at each start. */
export interface BoardSubject {
  readonly board: Board;
  /** Ids of two open items at least, the last updated first. */
  readonly open: readonly string[];
  /** A label that the source has, and the first open item and no other one of `open` does not. */
  readonly label: string;
  dispose?(): Promise<void>;
}

const CALL_MS = 10_000;

/** Contract suite of every source of work items. Run it with any runner: `boardContract({ describe, it }, () => ({ board, open, label }))`. */
export function boardContract(runner: Runner, make: () => BoardSubject | Promise<BoardSubject>): void {
  const given = (test: (subject: BoardSubject) => Promise<void>) => async () => {
    const subject = await make();
    try {
      assert.ok(subject.open.length >= 2, "name two open items at least");
      await test(subject);
    } finally {
      await subject.dispose?.();
    }
  };
  const { signal } = new AbortController();
  const ask = <T>(what: string, work: Promise<T>): Promise<T> => inTime(CALL_MS, what, work);
  const found = async (board: Board, id: string): Promise<WorkItem> => {
    const item = await ask("get", board.get(id, signal));
    assert.ok(item !== undefined, `the item ${id} is not there`);
    return item;
  };

  runner.describe("board contract", () => {
    runner.it(
      "is named in lower case and lists what is open, the last updated first, each item once and as plain data",
      given(async ({ board, open }) => {
        assert.match(board.name, /^[a-z0-9][a-z0-9_-]*$/, "the name is lower-case");
        const items = await ask("list", board.list({ state: "open" }, signal));
        const ids = items.map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length, "an item is listed twice");
        assert.deepEqual(
          ids.filter((id) => open.includes(id)),
          open,
          "the open items are not all listed in the order of their updates",
        );
        for (const item of items) assertItem(item, "open");
      }),
    );

    runner.it(
      "gets one item as it lists it, and none where the source has none",
      given(async ({ board, open }) => {
        const listed = (await ask("list", board.list({ state: "open" }, signal))).find(({ id }) => id === open[0]);
        const { text: _, ...got } = await found(board, open[0] as string);
        const { text: __, ...shown } = listed ?? ({} as WorkItem);
        assert.deepEqual(got, shown);
        assert.equal(await ask("get", board.get("no-such-item-0", signal)), undefined);
      }),
    );

    runner.it(
      "narrows a list by its limit, its labels and the time of the last update",
      given(async ({ board, open, label }) => {
        const one = await ask("list", board.list({ state: "open", limit: 1 }, signal));
        assert.equal(one.length, 1, "more than the limit are listed");
        const labelled = await ask("list", board.list({ state: "open", labels: [label] }, signal));
        for (const item of labelled) assert.ok(item.labels.includes(label), `${item.id} is listed without the label`);
        assert.ok(!labelled.some(({ id }) => id === open[0]), "an item without the label is listed");
        const { updatedAt } = await found(board, open[0] as string);
        const recent = await ask("list", board.list({ state: "open", since: updatedAt }, signal));
        assert.ok(recent.some(({ id }) => id === open[0]) && recent.every((item) => item.updatedAt >= updatedAt), "since does not narrow the list");
      }),
    );

    runner.it(
      "updates an item as a whole, keeps its other labels, and answers the item as it is then",
      given(async ({ board, open, label }) => {
        if (board.update === undefined) return;
        const [id = ""] = open;
        const before = await found(board, id);
        const added = await ask("update", board.update(id, { addLabels: [label] }, signal));
        assert.deepEqual([...added.labels].sort(), [...before.labels, label].sort());
        assert.deepEqual([...(await found(board, id)).labels].sort(), [...added.labels].sort(), "the source says something else");
        const closed = await ask("update", board.update(id, { removeLabels: [label], state: "closed" }, signal));
        assertItem(closed, "closed");
        assert.deepEqual([...closed.labels].sort(), [...before.labels].sort());
        const listed = await ask("list", board.list({ state: "open" }, signal));
        assert.ok(!listed.some((item) => item.id === id), "a closed item is listed as open");
        assertItem(await ask("update", board.update(id, { state: "open" }, signal)), "open");
      }),
    );

    runner.it(
      "makes no label, and changes nothing where one is refused",
      given(async ({ board, open }) => {
        if (board.update === undefined) return;
        const [id = ""] = open;
        const before = await found(board, id);
        await assert.rejects(ask("update", board.update(id, { addLabels: ["no-such-label-0"], state: "closed" }, signal)), "a label was made");
        assert.deepEqual(await found(board, id), before);
      }),
    );

    runner.it(
      "knows each label once, by name, that its items have or may get",
      given(async ({ board, open, label }) => {
        if (board.labels === undefined) return;
        const item = await found(board, open[0] as string);
        const { project } = item;
        const known = await ask("labels", board.labels(project === undefined ? [] : [project], signal));
        const names = known.map(({ name }) => name);
        assert.deepEqual(names, [...new Set(names)].sort(), "labels are listed twice, or not by name");
        assert.deepEqual(
          [...item.labels, label].filter((name) => !names.includes(name)),
          [],
          "a label that an item has is not listed",
        );
        for (const { name, color } of known) assert.ok(color === undefined || /^#[0-9a-f]{6}$/i.test(color), `the colour of ${name} is no #RRGGBB`);
      }),
    );

    runner.it(
      "refuses to update what is not there, with status 404",
      given(async ({ board }) => {
        if (board.update === undefined) return;
        await assert.rejects(ask("update", board.update("no-such-item-0", { state: "closed" }, signal)), { status: 404 });
      }),
    );

    runner.it(
      "ends soon after an abort",
      given(async ({ board, open }) => {
        const aborted = AbortSignal.abort(new Error("aborted before"));
        const ended = (work: Promise<unknown>) =>
          inTime(
            5_000,
            "the aborted call",
            work.catch(() => undefined),
          );
        await ended(board.list({}, aborted));
        await ended(board.get(open[0] as string, aborted));
      }),
    );
  });
}

function assertItem(item: WorkItem, state: WorkItem["state"]): void {
  assert.deepEqual(JSON.parse(JSON.stringify(item)), item, `${item.id} is not plain JSON`);
  assert.ok(typeof item.id === "string" && item.id !== "" && typeof item.title === "string", "an item has no id or no title");
  assert.equal(item.state, state);
  assert.ok(Array.isArray(item.labels) && item.labels.every((label) => typeof label === "string"), `the labels of ${item.id} are not texts`);
  assert.ok(Number.isFinite(item.updatedAt), `updatedAt of ${item.id} is no time`);
}
