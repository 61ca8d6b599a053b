import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { BoardView } from "../../plugins/features/boards/board-view.ts";
import { BOARDS, checkBoards } from "../../plugins/features/boards/settings.ts";
import { boardContract } from "../../sdk/testing/board-contract.ts";
import { bearer, get, REMOTE, send } from "./auth.harness.ts";
import { APP, board, DAY, HEADER, stage } from "./brd.harness.ts";
import { startTracker } from "./tracker.harness.ts";

describe("the source of these tests", () => {
  boardContract({ describe, it }, async () => {
    const tracker = await startTracker();
    tracker.labels.add("status::doing");
    tracker.issue(APP, 1);
    tracker.issue(APP, 2);
    let given: unknown;
    tracker.plugin.setup({ provide: { board: (thing: unknown) => (given = thing) } } as never);
    return { board: given as never, open: [`${APP}#1`, `${APP}#2`], label: "status::doing" };
  });
});

describe("boards", () => {
  it("BRD-01 a board has six columns with these ids and titles, and others only by the same six ids", async () => {
    const at = await stage();
    const { boards: shown } = (await get(at.dashboard, "/api/boards")).body as unknown as { boards: BoardView[] };
    // What a move would write is told before it is made.
    expect(shown[0]?.changes).toMatchObject({
      todo: { doing: { addLabels: ["status::doing"] }, done: { state: "closed" } },
      done: { todo: { addLabels: ["status::todo"], state: "open" } },
    });
    expect(shown[0]).toMatchObject({ id: "team", name: "Team", available: true, movable: true, timeRangeDays: 30, closedWindowDays: 30 });
    expect(shown[0]?.columns).toEqual([
      { id: "triage", title: "Triage", kind: "open-backlog" },
      { id: "todo", title: "To Do", kind: "scoped-label", mapsToLabel: "status::todo" },
      { id: "doing", title: "Doing", kind: "scoped-label", mapsToLabel: "status::doing" },
      { id: "on-hold", title: "On Hold", kind: "scoped-label", mapsToLabel: "status::on-hold" },
      { id: "review", title: "Review", kind: "scoped-label", mapsToLabel: "status::review" },
      { id: "done", title: "Done", kind: "closed" },
    ]);
    const six = ["triage", "todo", "doing", "on-hold", "review", "done"].map((id) => ({
      id,
      ...(id === "triage" || id === "done" ? {} : { mapsToLabel: `s::${id}` }),
    }));
    const problems = (columns: readonly object[]) => checkBoards([{ ...board({ columns }), labels: [], timeRangeDays: 30, closedWindowDays: 30 } as never]);
    expect(problems(six)).toEqual([]);
    expect(problems([...six.slice(0, 5), { id: "todo", mapsToLabel: "s::other" }])).toMatchObject([{ path: "[0].columns[5].id", severity: "error" }]);
    expect(problems([...six.slice(0, 5), { id: "done", mapsToLabel: "s::todo" }])).toMatchObject([{ path: "[0].columns[5].mapsToLabel", severity: "error" }]);
    expect(problems(six.map((one) => (one.id === "todo" ? { id: "todo" } : one)))).toMatchObject([{ path: "[0].columns[1].mapsToLabel", severity: "error" }]);
    expect(problems(six.map((one) => (one.id === "todo" ? { id: "todo", mapsToLabel: "flat" } : one)))).toMatchObject([
      { message: expect.stringContaining("no scope") },
    ]);
  });

  it("BRD-01 CFG-14 the configuration is refused with five columns, a seventh id, no project, and days out of range", async () => {
    const tracker = await startTracker();
    for (const [wrong, path] of [
      [{ columns: [] }, "boards[0].columns"],
      [{ columns: Array.from({ length: 6 }, () => ({ id: "later" })) }, "boards[0].columns[0].id"],
      [{ source: { type: "forge_a", projects: [] } }, "boards[0].source.projects"],
      [{ closedWindowDays: 366 }, "boards[0].closedWindowDays"],
      [{ timeRangeDays: 0 }, "boards[0].timeRangeDays"],
    ] as const) {
      const at = await stage({ tracker, section: [board(wrong)] });
      const state = at.kernel.health().plugins.find(({ id }) => id === "feature-boards");
      expect(state, path).toMatchObject({ state: "failed", reason: expect.stringContaining(path) });
    }
    expect(BOARDS.items?.required).toEqual(["id", "name", "source"]);
  });

  it("cards are cut into columns by their labels and state, Done by the days since closing, and nothing of another project is shown", async () => {
    const at = await stage({ section: [board({ primaryToolLabel: "tool" })] });
    const { tracker } = at;
    const tool = (number: number, labels: string[] = [], more = {}) => tracker.issue(APP, number, ["tool", ...labels], more);
    tool(1);
    tool(2, ["status::doing", "area::web"]);
    tool(3, ["area::web"]);
    tool(4, ["status::review"], { updatedAt: Date.now() - 31 * DAY });
    tool(5, ["status::blocked"]);
    tool(6, ["status::doing"], { state: "closed", closedAt: Date.now() - 29 * DAY });
    tool(7, [], { state: "closed", closedAt: Date.now() - 31 * DAY });
    tracker.issue(APP, 8, ["status::doing"]);
    tracker.issue("group/other", 9, ["tool"]);
    tool(10, ["status::sub::doing"], { assignees: ["ann"] });
    expect(await at.places()).toEqual({ triage: [1, 3, 10], todo: [], doing: [2], "on-hold": [], review: [], done: [6] });
    const items = await at.items();
    expect(items.unplaced.map(({ id }) => id)).toEqual([`${APP}#5`]);
    expect(items.columns[0]?.items[2]).toMatchObject({ id: `${APP}#10`, project: APP, column: "triage", assignees: ["ann"], url: "https://forge.example/10" });
    expect(items.truncated).toBe(false);
    expect(tracker.requests.filter((line) => !line.includes("labels=tool") || !line.includes("projects=group%2Fapp"))).toEqual([]);
  });

  it("svc board lists, shows and moves, and svc backlog shows what nobody has taken up", async () => {
    const at = await stage({ section: [board(), board({ id: "both", name: "Both", source: { type: "forge_a", projects: [APP, "group/web"] } })] });
    const { hostname, port } = new URL(at.daemon);
    await writeFile(join(at.dataFolder, "daemon.json"), JSON.stringify({ pid: process.pid, host: hostname, port: Number(port), startedAt: 0 }));
    at.tracker.issue(APP, 1, [], { title: "Fix\u001b[31m it", assignees: ["ann"] });
    at.tracker.issue(APP, 2, ["status::doing"]);
    expect((await at.svc("board", "list")).stdout).toContain("team  Team  forge_a: group/app\n  triage, todo (status::todo), doing (status::doing)");
    expect((await at.svc("board", "move", "team", "1", "doing", "--from", "triage")).stdout).toBe(`${APP}#1 is in doing: Fix [31m it\n`);
    expect(await at.svc("board", "move", "team", "1", "review", "--from", "triage")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no longer in 'Triage' but in 'Doing'"),
    });
    expect(await at.svc("board", "move", "both", "1", "review")).toMatchObject({ code: 2, stderr: expect.stringContaining("group/app#1") });
    expect((await at.svc("board", "move", "both", `${APP}#2`, "triage")).code).toBe(0);
    expect((await at.svc("board", "show", "team", "--column", "doing")).stdout).toBe(`Doing (doing): 1\n  ${APP}#1  Fix [31m it  [ann]\n`);
    expect((await at.svc("backlog", "team")).stdout).toBe(`Team (team), Triage: 1\n  ${APP}#2  Issue 2\n`);
    expect(JSON.parse((await at.svc("--json", "backlog")).stdout).backlogs).toMatchObject([{ board: "team", items: [{ id: `${APP}#2` }] }, { board: "both" }]);
    expect((await at.lines()).map(({ actor }) => actor)).toEqual([
      expect.stringMatching(/^this machine \(.+\)$/),
      expect.stringMatching(/^this machine \(.+\)$/),
    ]);
  });

  it("BRD-05 a source that a plugin brings is read, says that it does not support transitions, and one that nobody brings is named", async () => {
    const tracker = await startTracker({ name: "acme", readOnly: true });
    const section = [board({ source: { type: "acme", projects: [APP] } }), board({ id: "away", source: { type: "nobody", projects: [APP] } })];
    const at = await stage({ tracker, section });
    tracker.issue(APP, 1);
    expect((await at.places()).triage).toEqual([1]);
    expect(await at.move(`${APP}#1`, "triage", "doing")).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("source does not support transitions") },
    });
    const { boards: shown } = (await get(at.dashboard, "/api/boards")).body as unknown as { boards: BoardView[] };
    expect(shown.map(({ available, movable }) => [available, movable])).toEqual([
      [true, false],
      [false, false],
    ]);
    expect(await get(at.dashboard, "/api/boards/away/items")).toMatchObject({
      status: 503,
      body: { code: "SVC_BOARD_SOURCE_OFF", error: expect.stringContaining("'nobody'") },
    });
    expect(checkBoards(section as never)).toMatchObject([
      { path: "[0].source.type", message: expect.stringContaining("forge_a is") },
      { path: "[1].source.type" },
    ]);
    expect((await get(at.dashboard, "/api/boards/nowhere/items")).body).toMatchObject({ code: "SVC_BOARD_UNKNOWN" });
  });

  it("BRD-06 a card is found by its URL-encoded project and number, with a project path of 120 characters and more", async () => {
    for (const length of [120, 255]) {
      const project = `${`group/${"nested-group/".repeat(30)}`.slice(0, length - 4).replace(/\/$/, "x")}/app`;
      expect(project).toHaveLength(length);
      const at = await stage({ section: [board({ source: { type: "forge_a", projects: [project] } })] });
      at.tracker.issue(project, 12345);
      const id = `${project}#12345`;
      expect((await at.items()).columns[0]?.items.map((card) => card.id)).toEqual([id]);
      expect(await at.move(id, "triage", "doing")).toMatchObject({ status: 200, body: { item: { id, column: "doing" } } });
    }
  });

  it("BRD-07 what is not available is not faked: no route makes or assigns a card or streams, no card has a badge, reconciliation is named as unread", async () => {
    const at = await stage({ section: [board({ reconciliation: { enabled: true, staleDoingMinutes: 1, action: "notify" } })] });
    at.tracker.issue(APP, 1, ["status::doing"], { updatedAt: Date.now() - DAY });
    for (const [method, path] of [
      ["POST", "/api/boards/team/items"],
      ["POST", `/api/boards/team/items/${encodeURIComponent(`${APP}#1`)}/assign`],
      ["PATCH", `/api/boards/team/items/${encodeURIComponent(`${APP}#1`)}`],
      ["GET", "/api/boards/team/stream"],
    ] as const) {
      const { status } = await (method === "GET" ? get(at.dashboard, path) : send(at.dashboard, path, {}, HEADER, method));
      expect([method, path, status === 404 || status === 405]).toEqual([method, path, true]);
    }
    const card = (await at.items()).columns[2]?.items[0];
    expect(Object.keys(card ?? {}).sort()).toEqual(["agents", "assignees", "column", "id", "labels", "project", "title", "updatedAt", "url"]);
    expect(BOARDS.items?.properties?.reconciliation?.unread).toBe(true);
    expect(at.tracker.writes()).toEqual([]);
  });

  it("AUTH-22 a write needs the header with this very value, beside the token, before the source is asked; reads need none", async () => {
    const at = await stage({ dashboard: { token: "the-single-bearer" } });
    at.tracker.issue(APP, 1);
    const auth = { ...bearer("the-single-bearer"), ...REMOTE };
    for (const headers of [{}, { "x-requested-with": "" }, { "x-requested-with": "XMLHttpRequest" }, { "x-requested-with": "svc-board, svc-board" }])
      expect([headers, await at.move(`${APP}#1`, "triage", "doing", { ...auth, ...headers })]).toMatchObject([
        {},
        { status: 403, body: { code: "SVC_REQUEST_UNMARKED" } },
      ]);
    expect((await at.move(`${APP}#1`, "triage", "doing", { ...REMOTE, ...HEADER })).status).toBe(401);
    const reads = await at.token("dashboard:read");
    expect((await at.move(`${APP}#1`, "triage", "doing", { ...REMOTE, ...HEADER, ...bearer(reads.secret) })).status).toBe(403);
    expect(at.tracker.requests).toEqual([]);
    expect((await get(at.dashboard, "/api/boards/team/items", { ...REMOTE, ...bearer(reads.secret) })).status).toBe(200);
    expect((await at.move(`${APP}#1`, "triage", "doing", { ...auth, ...HEADER })).status).toBe(200);
    // The daemon's own route for this machine asks for it, too, and lets nobody else in.
    const daemon = `/boards/team/items/${encodeURIComponent(`${APP}#1`)}/move`;
    expect((await send(at.daemon, daemon, { to: "review" }, {}, "PATCH")).status).toBe(403);
    expect((await send(at.daemon, daemon, { to: "review" }, { ...HEADER, ...REMOTE }, "PATCH")).status).toBe(403);
    expect((await send(at.daemon, daemon, { to: "review" }, HEADER, "PATCH")).status).toBe(200);
  });
});
