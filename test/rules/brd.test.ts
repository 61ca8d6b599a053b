import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { BoardItems, BoardView, Card } from "../../plugins/features/boards/board-view.ts";
import boards from "../../plugins/features/boards/index.ts";
import { BOARDS, checkBoards } from "../../plugins/features/boards/settings.ts";
import { boardContract } from "../../sdk/testing/board-contract.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { bearer, type Guarded, get, guarded, REMOTE, send } from "./auth.harness.ts";
import { startTracker, type Tracker } from "./tracker.harness.ts";

const DAY = 86_400_000;
const APP = "group/app";
const HEADER = { "x-requested-with": "svc-board" };
const STATUS = ["status::todo", "status::doing", "status::on-hold", "status::review"];
const board = (more: object = {}) => ({ id: "team", name: "Team", source: { type: "forge_a", projects: [APP] }, ...more });

interface Stage extends Guarded {
  readonly tracker: Tracker;
  items(): Promise<BoardItems>;
  /** Column ids with the numbers of their cards. */
  places(): Promise<Record<string, number[]>>;
  move(id: string, from: string | undefined, to: string, headers?: Record<string, string>): ReturnType<typeof send>;
  lines(): Promise<Record<string, unknown>[]>;
}

async function stage({
  section = [board()] as readonly object[],
  tracker,
  ...rest
}: {
  section?: readonly object[];
  tracker?: Tracker;
  dashboard?: Record<string, unknown>;
} = {}) {
  const source = tracker ?? (await startTracker());
  for (const label of STATUS) source.labels.add(label);
  const at = await guarded({ ...rest, config: { boards: section }, plugins: [boards as never, source.plugin] });
  const items = async () => (await get(at.dashboard, "/api/boards/team/items")).body as unknown as BoardItems;
  return {
    ...at,
    tracker: source,
    items,
    places: async () => Object.fromEntries((await items()).columns.map((column) => [column.id, column.items.map(({ id }) => Number(id.split("#")[1]))])),
    move: (id, from, to, headers = HEADER) =>
      send(at.dashboard, `/api/boards/team/items/${encodeURIComponent(id)}/move`, { to, ...(from === undefined ? {} : { from }) }, headers, "PATCH"),
    lines: async () => {
      const text = await readFile(join(at.dataFolder, "board-audit.jsonl"), "utf8").catch(() => "");
      return text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  } satisfies Stage as Stage;
}

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 10 });

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
