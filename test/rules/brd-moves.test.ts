import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Card } from "../../plugins/features/boards/board-view.ts";
import boards from "../../plugins/features/boards/index.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { bearer, send } from "./auth.harness.ts";
import { APP, board, HEADER, STATUS, stage, until } from "./brd.harness.ts";
import { startTracker } from "./tracker.harness.ts";

describe("moves of cards", () => {
  it("BRD-02 a move is one call at the source, which adds, removes, closes and reopens, and labels of other scopes survive", async () => {
    const at = await stage();
    const { tracker } = at;
    tracker.issue(APP, 1, ["area::web", "bug"]);
    const id = `${APP}#1`;
    const others = STATUS.filter((label) => label !== "status::doing");
    const steps: readonly (readonly [from: string, to: string, change: object, labels: readonly string[], state: string])[] = [
      ["triage", "doing", { addLabels: ["status::doing"], removeLabels: others }, ["area::web", "bug", "status::doing"], "open"],
      [
        "doing",
        "review",
        { addLabels: ["status::review"], removeLabels: STATUS.filter((one) => one !== "status::review") },
        ["area::web", "bug", "status::review"],
        "open",
      ],
      ["review", "done", { state: "closed" }, ["area::web", "bug", "status::review"], "closed"],
      ["done", "doing", { addLabels: ["status::doing"], removeLabels: others, state: "open" }, ["area::web", "bug", "status::doing"], "open"],
      ["doing", "triage", { removeLabels: STATUS }, ["area::web", "bug"], "open"],
      ["triage", "done", { state: "closed" }, ["area::web", "bug"], "closed"],
      ["done", "triage", { removeLabels: STATUS, state: "open" }, ["area::web", "bug"], "open"],
    ];
    for (const [from, to, change, labels, state] of steps) {
      const before = tracker.requests.length;
      const { status, body } = await at.move(id, from, to);
      expect([from, to, status, (body.item as Card).column]).toEqual([from, to, 200, to]);
      expect(tracker.requests.slice(before)).toEqual([`PUT ${id} ${JSON.stringify(change)}`]);
      expect([[...tracker.find(id).labels].sort(), tracker.find(id).state]).toEqual([[...labels].sort(), state]);
      expect((await at.places())[to]).toEqual([1]);
    }
  });

  it("BRD-02 a flat label is added where a card enters and removed where it leaves", async () => {
    const columns = ["triage", "todo", "doing", "on-hold", "review", "done"].map((id) =>
      id === "on-hold" ? { id, kind: "label", mapsToLabel: "blocked" } : { id, ...(id === "triage" || id === "done" ? {} : { mapsToLabel: `status::${id}` }) },
    );
    const at = await stage({ section: [board({ columns })] });
    at.tracker.issue(APP, 1, ["status::doing", "area::web"]);
    at.tracker.labels.add("blocked");
    const id = `${APP}#1`;
    for (const [from, to, labels] of [
      ["doing", "on-hold", ["area::web", "blocked"]],
      ["on-hold", "review", ["area::web", "status::review"]],
      ["review", "on-hold", ["area::web", "blocked"]],
      ["on-hold", "done", ["area::web"]],
    ] as const) {
      expect([to, (await at.move(id, from, to)).status]).toEqual([to, 200]);
      expect([...at.tracker.find(id).labels].sort()).toEqual([...labels].sort());
    }
    expect(at.tracker.writes()).toHaveLength(4);
  });

  it("BRD-03 a card of another project, a column that is none, and a label that the source does not have are refused with nothing written", async () => {
    const at = await stage();
    const { tracker } = at;
    tracker.issue(APP, 1);
    tracker.issue("group/secret", 7);
    for (const id of ["group/secret#7", `${APP}/#1`, `${APP}#1#2`, `${APP.toUpperCase()}#1`, `${APP}/../secret#7`, "7"]) {
      const { status } = await at.move(id, "triage", "doing");
      expect([id, status >= 400 && status < 500]).toEqual([id, true]);
    }
    expect(tracker.requests.filter((line) => !line.startsWith("GET 7"))).toEqual([]);
    expect(await at.move(`${APP}#1`, "triage", "later")).toMatchObject({ status: 400, body: { code: "SVC_BOARD_COLUMN", field: "to" } });
    expect(await at.move(`${APP}#1`, "later", "doing")).toMatchObject({ status: 400, body: { code: "SVC_BOARD_COLUMN", field: "from" } });
    expect(tracker.writes()).toEqual([]);
    tracker.labels.delete("status::doing");
    expect(await at.move(`${APP}#1`, "triage", "doing")).toMatchObject({
      status: 422,
      body: { error: expect.stringContaining("status::doing does not exist") },
    });
    expect([tracker.find(`${APP}#1`).labels, tracker.labels.has("status::doing")]).toEqual([[], false]);
    expect(await at.lines()).toEqual([]);
  });

  it("BRD-03 where ids name no project the source is asked which one it is, before anything is written", async () => {
    const at = await stage({ tracker: await startTracker({ opaque: true }) });
    at.tracker.issue(APP, 1);
    at.tracker.issue("group/secret", 7);
    expect((await at.items()).columns[0]?.items.map(({ id }) => id)).toEqual(["T-1"]);
    expect(await at.move("T-7", "triage", "doing")).toMatchObject({ status: 404, body: { code: "SVC_BOARD_PROJECT" } });
    expect(await at.move("T-8", "triage", "doing")).toMatchObject({ status: 404, body: { code: "SVC_BOARD_ITEM" } });
    expect(at.tracker.writes()).toEqual([]);
    expect((await at.move("T-1", "triage", "doing")).status).toBe(200);
    expect(at.tracker.writes()).toHaveLength(1);
  });

  it("BRD-04 one line for each move that succeeded, none for one that failed, and the source's own status and words", async () => {
    const at = await stage();
    const { tracker } = at;
    tracker.issue(APP, 1);
    for (const status of [401, 403, 404, 409, 429, 500, 502]) {
      tracker.fail(status, `no: ${status}`);
      expect(await at.move(`${APP}#1`, "triage", "doing")).toMatchObject({
        status,
        body: { code: "SVC_BOARD_SOURCE", error: `forge_a answered ${status}: no: ${status}` },
      });
    }
    tracker.fail("cut");
    expect(await at.move(`${APP}#1`, "triage", "doing")).toMatchObject({ status: 502, body: { code: "SVC_BOARD_SOURCE" } });
    expect([await at.lines(), tracker.find(`${APP}#1`).labels]).toEqual([[], []]);
    const { secret, id } = await at.token("dashboard:write");
    expect((await at.move(`${APP}#1`, "triage", "doing", { ...HEADER, ...bearer(secret) })).status).toBe(200);
    expect((await at.move(`${APP}#1`, "doing", "done")).status).toBe(200);
    const [first, second, ...rest] = await at.lines();
    expect(first).toEqual({
      ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      actor: `token test (${id})`,
      action: "move",
      boardId: "team",
      itemId: `${APP}#1`,
      payload: { from: "triage", to: "doing", addLabels: ["status::doing"], removeLabels: ["status::todo", "status::on-hold", "status::review"] },
    });
    expect([second, rest]).toEqual([expect.objectContaining({ actor: "this machine", payload: { from: "doing", to: "done", state: "closed" } }), []]);
  });

  it("BRD-04 a move whose answer is lost after its effect is one success with one line", async () => {
    const at = await stage();
    at.tracker.issue(APP, 1);
    at.tracker.issue(APP, 2);
    at.tracker.fail("cut", "", true);
    expect(await at.move(`${APP}#1`, "triage", "doing")).toMatchObject({ status: 200, body: { item: { column: "doing" } } });
    at.tracker.fail(503, "busy", true);
    expect((await at.move(`${APP}#2`, "triage", "done")).status).toBe(200);
    expect([(await at.lines()).map(({ itemId }) => itemId), at.tracker.writes().length]).toEqual([[`${APP}#1`, `${APP}#2`], 2]);
  });

  it("BRD-04 a move that the source made while the daemon was stopped gets its line at the next start, one that it did not make gets none", async () => {
    const tracker = await startTracker();
    for (const label of STATUS) tracker.labels.add(label);
    tracker.issue(APP, 1);
    tracker.issue(APP, 2);
    const folder = await temporaryFolder();
    const options = {
      file: join(folder, "svc.json"),
      dataFolder: join(folder, ".svc"),
      listen: true,
      inline: [boards as never, tracker.plugin],
      config: { boards: [board()] },
    };
    const first = await runKernel(options);
    const go = tracker.hold();
    const moves = [1, 2].map((number) =>
      send(baseOf(first.kernel), `/boards/team/items/${encodeURIComponent(`${APP}#${number}`)}/move`, { from: "triage", to: "doing" }, HEADER, "PATCH").catch(
        () => undefined,
      ),
    );
    await until(() => expect(tracker.writes()).toHaveLength(2));
    await first.kernel.stop({ drainSeconds: 0 });
    await Promise.all(moves);
    tracker.issues.splice(1, 1);
    go();
    await until(() => expect(tracker.find(`${APP}#1`).labels).toEqual(["status::doing"]));
    const lines = () => readFile(join(folder, ".svc/board-audit.jsonl"), "utf8").catch(() => "");
    expect(await lines()).toBe("");
    const second = await runKernel(options);
    await until(async () => expect(await lines()).toContain(`"itemId":"${APP}#1"`));
    await second.kernel.stop({ drainSeconds: 0 });
    await runKernel(options);
    expect((await lines()).trim().split("\n")).toHaveLength(1);
    expect(tracker.writes()).toHaveLength(2);
  });

  it("moves of one card run one after the other, and a caller who is behind gets the place of the card with 409", async () => {
    const at = await stage();
    const { tracker } = at;
    tracker.issue(APP, 1);
    tracker.issue(APP, 2);
    await at.items();
    const go = tracker.hold();
    const first = at.move(`${APP}#1`, "triage", "doing");
    await until(() => expect(tracker.writes()).toHaveLength(1));
    const second = at.move(`${APP}#1`, "doing", "review");
    const behind = at.move(`${APP}#1`, "triage", "on-hold");
    const other = at.move(`${APP}#2`, "triage", "doing");
    await until(() => expect(tracker.writes().filter((line) => line.includes("#2"))).toHaveLength(1));
    expect(tracker.writes()).toHaveLength(2);
    go();
    expect((await Promise.all([first, second, other])).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await behind).toMatchObject({ status: 409, body: { code: "SVC_BOARD_MOVED", item: { id: `${APP}#1`, column: "review" } } });
    expect(await at.places()).toMatchObject({ doing: [2], review: [1], "on-hold": [] });
    // Moved at the source since: the daemon that knows only its own word asks before it contradicts.
    tracker.find(`${APP}#1`).labels = ["status::on-hold"];
    expect((await at.move(`${APP}#1`, "on-hold", "doing")).status).toBe(200);
    expect((await at.lines()).map(({ itemId }) => itemId)).toHaveLength(4);
  });
});
