import { describe, expect, it, vi } from "vitest";
import { createChat } from "./approvals.harness.ts";
import { flow, type Stage, stage } from "./wf.harness.ts";

/** A form with all seven kinds; the way on is what `to` says. */
const FORM = [
  { name: "title", kind: "text", required: true, pattern: "^[a-z ]+$" },
  { name: "body", kind: "long-text" },
  { name: "count", kind: "number", min: 1, max: 9 },
  { name: "sure", kind: "boolean" },
  { name: "to", kind: "select", required: true, options: ["left", "right"] },
  { name: "tags", kind: "multi-select", options: ["a", "b"], max: 1 },
  { name: "day", kind: "date" },
];
const ASKS = flow(
  [
    {
      id: "ask",
      kind: "userTask",
      title: "About {{ input.what }}",
      detail: "Look at it",
      assignee: "actor:ann",
      form: FORM,
      submitTransition: "{{ values.to }}",
    },
    { id: "l", kind: "end", output: "went left" },
    { id: "r", kind: "end", output: "went right" },
  ],
  "start > ask, ask.left > l, ask.right > r",
);
const APPROVES = flow(
  [
    { id: "ask", kind: "approval", title: "Buy {{ input.item }}?", assignee: "role:lead" },
    { id: "yes", kind: "end", output: "bought" },
    { id: "no", kind: "end", output: "left" },
  ],
  "start > ask, ask.approve > yes, ask.reject > no",
);

/** The one open task of a run. */
async function taskOf({ call }: Stage, run: string): Promise<Record<string, unknown> & { id: string }> {
  return vi.waitFor(
    async () => {
      const { body } = await call("GET", `/api/workflows/tasks?run=${run}`);
      const [task] = body["tasks"] as { id: string }[];
      expect(task).toBeDefined();
      return task as Record<string, unknown> & { id: string };
    },
    { timeout: 20_000, interval: 20 },
  );
}
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 20 });

describe("forms and submits", () => {
  it("WF-08 all seven kinds are judged on the server, the error names the field and the run does not move; a valid one takes the transition", async () => {
    const on = await stage({ asks: ASKS });
    const run = await on.start("asks", { what: "tea" });
    const task = await taskOf(on, run);
    expect(task).toMatchObject({
      kind: "userTask",
      title: "About tea",
      detail: "Look at it",
      assignee: "actor:ann",
      state: "open",
      overdue: false,
      runId: run,
      workflowId: "asks",
    });
    const before = (await on.run(run)).timeline.length;
    const good = { title: "a b", to: "left" };
    for (const [values, field, code] of [
      [{ ...good, title: "" }, "title", "required"],
      [{ ...good, title: "A" }, "title", "pattern"],
      [{ ...good, body: 7 }, "body", "type"],
      [{ ...good, count: "3" }, "count", "type"],
      [{ ...good, count: 10 }, "count", "range"],
      [{ ...good, sure: "yes" }, "sure", "type"],
      [{ ...good, to: "up" }, "to", "option"],
      [{ ...good, tags: "a" }, "tags", "type"],
      [{ ...good, tags: ["a", "b"] }, "tags", "range"],
      [{ ...good, day: "2026-02-30" }, "day", "date"],
      [{ ...good, more: 1 }, "more", "unknown"],
    ] as const)
      for (const body of [values, { values }])
        expect(await on.call("POST", `/api/workflows/tasks/${task.id}/submit`, body)).toMatchObject({
          status: 400,
          body: { error: expect.any(String), field, code },
        });
    expect((await on.run(run)).timeline.length).toBe(before);

    // A preview of a link reads it, and no more.
    expect(await on.call("GET", `/api/workflows/tasks/${task.id}`)).toMatchObject({ status: 200, body: { state: "open" } });
    expect((await on.call("GET", `/api/workflows/tasks/${task.id}/submit`)).status).toBe(405);
    const all = { title: "a b", body: "two\nlines", count: 3, sure: false, to: "right", tags: ["b"], day: "2026-02-28" };
    expect(await on.call("POST", `/api/workflows/tasks/${task.id}/submit`, { values: all, actor: "ann" })).toEqual({
      status: 200,
      body: { ok: true, taskId: task.id, port: "right", runId: run },
    });
    expect((await on.until(run, "completed")).output).toBe("went right");
    expect(await on.call("GET", `/api/workflows/tasks/${task.id}`)).toMatchObject({ body: { state: "completed", completedBy: "ann", values: all } });
    const types = on.events.filter(({ kind }) => kind === "task").map(({ type }) => type);
    expect(types).toEqual(["created", "submitted"]);
  });

  it("WF-08 of submits at once on the daemon and the page one counts, and the others are 409 with who and when", async () => {
    const on = await stage({ approves: APPROVES });
    const run = await on.start("approves", { item: "a pen" });
    const { id } = await taskOf(on, run);
    const answers = await Promise.all(
      ["ann", "ben", "cid", "dan"].map((actor, at) =>
        (at % 2 === 0 ? on.call : on.page)("POST", `/api/workflows/tasks/${id}/submit`, { values: { decision: at < 2 ? "approve" : "reject" }, actor }),
      ),
    );
    const taken = answers.filter(({ status }) => status === 200);
    expect(taken).toHaveLength(1);
    const { body: task } = await on.call("GET", `/api/workflows/tasks/${id}`);
    for (const { status, body } of answers.filter((answer) => answer !== taken[0])) {
      expect(status).toBe(409);
      expect(body).toMatchObject({
        error: expect.any(String),
        code: "task-closed",
        state: "completed",
        completedBy: task["completedBy"],
        completedAt: task["completedAt"],
      });
    }
    const { timeline } = await on.until(run, "completed");
    expect(timeline.filter(({ kind }) => kind === "task.submitted")).toHaveLength(1);
    expect((await on.call("POST", "/api/workflows/tasks/ut_none/submit", {})).status).toBe(404);
  });

  it("WF-08 a task survives a restart of the daemon; the run ends with its answer, and a canceled run takes none", async () => {
    const first = await stage({ approves: APPROVES });
    const [run, other] = [await first.start("approves", { item: "a pen" }), await first.start("approves", { item: "ink" })];
    const before = await taskOf(first, run);
    const gone = await taskOf(first, other);
    await first.stop();
    const on = await stage({ approves: APPROVES }, { folder: first.folder });
    expect(await taskOf(on, run)).toEqual(before);
    await on.call("POST", `/api/workflows/runs/${other}/status`, { action: "cancel" });
    expect(await on.call("POST", `/api/workflows/tasks/${gone.id}/submit`, { decision: "approve" })).toMatchObject({
      status: 409,
      body: { state: "canceled" },
    });
    expect((await on.call("POST", `/api/workflows/tasks/${before.id}/submit`, { decision: "approve" })).status).toBe(200);
    expect((await on.until(run, "completed")).output).toBe("bought");
  });

  it("WF-09 actor lists a person's tasks and those of the roles that the business chart gives; without it all open ones", async () => {
    const sections = { business: { orgChart: { ann: { role: "lead", reportsTo: "bob" }, bob: { role: "boss" } } } };
    const on = await stage({ asks: ASKS, approves: APPROVES }, { sections });
    const [own, ofRole] = [await taskOf(on, await on.start("asks", { what: "x" })), await taskOf(on, await on.start("approves", { item: "y" }))];
    const listed = async (query: string) =>
      ((await on.page("GET", `/api/workflows/tasks${query}`)).body["tasks"] as { id: string }[]).map(({ id }) => id).sort();
    expect(await listed("?actor=ann")).toEqual([own.id, ofRole.id].sort());
    expect(await listed("?actor=bob")).toEqual([]);
    expect(await listed("?actor=lead")).toEqual([]);
    expect(await listed("")).toEqual([own.id, ofRole.id].sort());
  });

  it("WF-10 a comment is kept as a transition, leaves the task open and makes no event", async () => {
    const on = await stage({ approves: APPROVES });
    const run = await on.start("approves", { item: "a pen" });
    const { id } = await taskOf(on, run);
    const said = await on.call("POST", `/api/workflows/tasks/${id}/comment`, { text: "I ask the boss", by: "ann" });
    expect(said).toMatchObject({
      status: 200,
      body: { id, state: "open", history: [{ type: "created" }, { type: "commented", by: "ann", text: "I ask the boss" }] },
    });
    for (const body of [{}, { text: "" }, { text: "x".repeat(4_001) }])
      expect((await on.call("POST", `/api/workflows/tasks/${id}/comment`, body)).status).toBe(400);
    expect((await on.run(run)).timeline.at(-1)).toMatchObject({ kind: "task.commented" });
    expect(on.events.filter(({ kind }) => kind === "task").map(({ type }) => type)).toEqual(["created"]);
  });

  it("AUTH-11 with a token on the dashboard nobody submits or comments there without it", async () => {
    const on = await stage({ approves: APPROVES }, { token: "a-token-of-the-dashboard" });
    const { id } = await taskOf(on, await on.start("approves", { item: "a pen" }));
    for (const [path, body] of [
      ["submit", { decision: "approve" }],
      ["comment", { text: "x" }],
    ] as const)
      expect((await on.page("POST", `/api/workflows/tasks/${id}/${path}`, body)).status).toBe(401);
    const bearer = { authorization: "Bearer a-token-of-the-dashboard" };
    expect((await on.page("POST", `/api/workflows/tasks/${id}/submit`, { decision: "approve" }, bearer)).status).toBe(200);
  });
});

describe("tasks on chat", () => {
  const CHAT = { approvals: { digest: { destination: { channel: "chat", chatId: "boss" } } } };

  it("WF-08 an approval is asked with buttons, a press submits it, and the run goes on", async () => {
    const chat = createChat();
    const on = await stage({ approves: APPROVES }, { plugins: [chat.plugin], sections: CHAT });
    const run = await on.start("approves", { item: "a pen" });
    await until(() => expect(chat.said.at(-1)?.text).toContain("Buy a pen?"));
    await chat.press("Reject");
    expect((await on.until(run, "completed")).output).toBe("left");
    const [task] = (await on.call("GET", `/api/workflows/tasks?state=completed&run=${run}`)).body["tasks"] as Record<string, unknown>[];
    expect(task).toMatchObject({ completedBy: "Ann (u1) on chat", values: { decision: "reject" } });
  });

  it("WF-08 what is submitted elsewhere is withdrawn on chat, and a press then changes nothing", async () => {
    const chat = createChat();
    const on = await stage({ approves: APPROVES }, { plugins: [chat.plugin], sections: CHAT });
    const run = await on.start("approves", { item: "a pen" });
    const { id } = await taskOf(on, run);
    await until(() => expect(chat.said.length).toBeGreaterThan(0));
    await on.call("POST", `/api/workflows/tasks/${id}/submit`, { values: { decision: "approve" }, actor: "ben" });
    await until(() => expect(chat.shown.join("\n")).toContain("answered by ben"));
    await chat.press("Reject").catch(() => undefined);
    expect((await on.until(run, "completed")).output).toBe("bought");
    const open = (await on.call("GET", "/approvals?open=true")).body["approvals"];
    expect(open).toEqual([]);
  });

  it("WF-08 a form that needs more than a button is told with how to fill it in, and a press there leaves it open", async () => {
    const chat = createChat();
    const on = await stage({ asks: ASKS }, { plugins: [chat.plugin], sections: CHAT });
    const { id } = await taskOf(on, await on.start("asks", { what: "tea" }));
    await until(() => expect(chat.said.at(-1)?.text).toContain(`svc workflow submit ${id}`));
    await chat.press("Seen");
    await until(() => expect(chat.shown.join("\n")).toContain("Seen"));
    expect(await on.call("GET", `/api/workflows/tasks/${id}`)).toMatchObject({ body: { state: "open" } });
  });

  it("WF-08 a press counts after a restart of the daemon, too, without anything else that wakes the workflows", async () => {
    const chat = createChat();
    const first = await stage({ approves: APPROVES }, { plugins: [chat.plugin], sections: CHAT });
    const run = await first.start("approves", { item: "a pen" });
    await until(() => expect(chat.said.length).toBeGreaterThan(0));
    await first.stop();
    const on = await stage({ approves: APPROVES }, { folder: first.folder, plugins: [chat.plugin], sections: CHAT });
    await until(() => chat.press("Approve").then(() => {}));
    await until(async () => expect((await on.call("GET", "/approvals?open=true")).body["approvals"]).toEqual([]));
    expect((await on.until(run, "completed")).output).toBe("bought");
    expect(chat.said.filter(({ text }) => text.includes("Buy a pen?"))).toHaveLength(1);
  });
});
