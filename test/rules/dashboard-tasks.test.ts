import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, it } from "vitest";
import { seedTraces } from "../kit/seeded-traces.ts";
import { openStore } from "../kit/store.ts";
import { bearer, framesOf, type Guarded, get, guarded, send } from "./auth.harness.ts";

const NOW = Date.now();
const MINUTE = 60_000;

/** A dashboard over tasks of the past, one a minute where nothing else is said, the newest one a minute ago. */
async function withTasks(count: number, task: (n: number) => object = () => ({})): Promise<Guarded & { readonly ids: string[] }> {
  const store = openStore({ file: ":memory:" });
  const ids = await seedTraces(store, count, (n) => ({ at: NOW - (count - n) * MINUTE, ...task(n) }));
  return { ...(await guarded({ options: { store } })), ids };
}

const paths = (filter: Record<string, string>) => new URLSearchParams(filter).toString();
const rows = async (at: Guarded, filter: Record<string, string> = {}) =>
  (await get(at.dashboard, `/api/tasks?${paths(filter)}`)).body as unknown as {
    tasks: { id: string; state: string; text: string }[];
    next?: string;
    reached?: number;
  };

it("a list says how many tasks there are and where each page begins, and its pages hold them all", async () => {
  const at = await withTasks(1_234, (n) => ({ agent: n % 3 === 0 ? "foobar" : "foo", status: n % 10 === 0 ? "timeout" : "ok", text: `task ${n}` }));
  const { body } = await get(at.dashboard, "/api/tasks/marks");
  const { total, marks, page } = body as { total: number; marks: string[]; page: number };
  expect([total, page, marks.length]).toEqual([1_234, 100, 13]);
  const seen: string[] = [];
  for (const below of marks) seen.push(...(await rows(at, { below })).tasks.map(({ id }) => id));
  expect(seen).toEqual(at.ids.toReversed());
  // Newer ones change no page of what is read.
  await send(at.daemon, "/task", { agent: "foo", message: "new" });
  expect((await rows(at, { below: marks[0] as string })).tasks[0]?.id).toBe(at.ids.at(-1));
  const { body: narrow } = await get(at.dashboard, `/api/tasks/marks?${paths({ agent: "foobar", state: "timed-out", since: String(NOW - 600 * MINUTE) })}`);
  const wanted = at.ids.filter((_, n) => n % 30 === 0 && NOW - (1_234 - n) * MINUTE >= NOW - 600 * MINUTE);
  expect(narrow).toMatchObject({ total: wanted.length });
  expect((await rows(at, { agent: "foobar", state: "timed-out", since: String(NOW - 600 * MINUTE) })).tasks.map(({ id }) => id)).toEqual(wanted.toReversed());
});

it("words, failures and cancelled tasks are searched for in steps that end", async () => {
  const at = await withTasks(7_000, (n) => ({
    text: n === 40 ? "the Needle in it" : `hay ${n}`,
    ...(n % 500 === 0 ? { status: "error", error: "the engine said no", errorKind: n % 1_000 === 0 ? "cancelled" : "engine" } : {}),
  }));
  expect((await get(at.dashboard, `/api/tasks/marks?${paths({ text: "needle" })}`)).body).toMatchObject({ marks: [] });
  const found: string[] = [];
  let steps = 0;
  for (let below: string | undefined; ; steps += 1) {
    const page = await rows(at, { text: "needle", ...(below === undefined ? {} : { below }) });
    found.push(...page.tasks.map(({ text }) => text));
    below = page.next;
    if (below === undefined) break;
    expect(page.reached).toBeLessThan(NOW);
  }
  expect(found).toEqual(["the Needle in it"]);
  expect(steps).toBeGreaterThan(0);
  expect((await rows(at, { state: "cancelled" })).tasks.map(({ state }) => state)).toEqual(Array(7).fill("cancelled"));
  expect((await rows(at, { state: "failed" })).tasks.map(({ state }) => state)).toEqual(Array(7).fill("failed"));
  expect((await get(at.dashboard, "/api/tasks?state=lost")).status).toBe(400);
});

it("one task is there with its steps, its context and its older neighbour; an unknown one is 404", async () => {
  const at = await withTasks(2);
  const { body } = await send(at.daemon, "/task", { agent: "foo", message: "tool hammer" });
  const task = (await get(at.dashboard, `/api/tasks/${body.taskId}`)).body as Record<string, unknown>;
  expect(task).toMatchObject({
    state: "ok",
    older: at.ids.at(-1),
    trace: { message: "tool hammer", steps: [{ name: "hammer", kind: "tool", input: "in", output: "out" }] },
    context: { prompt: { text: "tool hammer", characters: 11 }, layers: [], history: [] },
  });
  expect(await get(at.dashboard, "/api/tasks/task_none")).toMatchObject({ status: 404, body: { code: "SVC_DASHBOARD_TRACE_UNKNOWN" } });
});

it("a chat streams what the agent says, to who began it and to who comes in the middle of it", async () => {
  const at = await guarded();
  const { taskId } = (await send(at.dashboard, "/api/chat/hidden", { text: "hold on", chat: "page" })).body as { taskId: string };
  await expect.poll(() => at.tier.held).toBe(1);
  const frames = framesOf(await fetch(`${at.dashboard}/api/chat/hidden/${taskId}/stream`));
  expect((await frames.next()).value).toMatchObject({ event: "so-far", data: { text: "begun " } });
  const queued = (await send(at.dashboard, "/api/chat/hidden", { text: "and then", chat: "page" })).body as { taskId: string };
  expect((await get(at.dashboard, "/api/tasks/now")).body).toMatchObject({
    running: [{ id: taskId, state: "running", text: "hold on" }],
    queued: [{ id: queued.taskId, state: "queued", waits: "conversation" }],
  });
  at.tier.release("to this");
  expect((await frames.next()).value).toMatchObject({ event: "text", data: { text: "to this" } });
  expect((await frames.next()).value).toMatchObject({ event: "done", data: { ok: true, reply: "begun to this" } });
  await expect
    .poll(async () => (await get(at.dashboard, "/api/chat/hidden")).body)
    .toMatchObject({
      chat: "page",
      turns: [
        { id: taskId, said: "hold on", state: "ok", answer: "begun to this" },
        { id: queued.taskId, said: "and then", state: "ok", answer: "and then" },
      ],
    });
  expect((await get(at.dashboard, "/api/chat/nobody")).status).toBe(404);
});

it("a follow-up that replaces stops the task and is answered first", async () => {
  const at = await guarded();
  const say = async (text: string, replace?: string) =>
    (await send(at.dashboard, "/api/chat/foo", { text, chat: "page", ...(replace === undefined ? {} : { replace }) })).body as { taskId: string };
  const first = await say("hold one");
  await expect.poll(() => at.tier.held).toBe(1);
  const waiting = await say("later");
  const second = await say("at once", first.taskId);
  await expect.poll(async () => (await get(at.dashboard, `/api/tasks/${waiting.taskId}`)).body).toMatchObject({ state: "ok" });
  expect((await get(at.dashboard, `/api/tasks/${first.taskId}`)).body).toMatchObject({ state: "cancelled" });
  expect(at.tier.prompts).toEqual(["hold one", "at once", "later"]);
  expect((await get(at.dashboard, `/api/tasks/${second.taskId}`)).body).toMatchObject({ state: "ok", trace: { channel: "dashboard" } });
});

it("RUN-07 messages that one turn answers run all, and what runs names them", async () => {
  const at = await guarded();
  const say = async (text: string) => ((await send(at.dashboard, "/api/chat/foo", { text, chat: "page" })).body as { taskId: string }).taskId;
  const first = await say("hold");
  await expect.poll(() => at.tier.held).toBe(1);
  const [lead, other] = [await say("hold on"), await say("and this")];
  at.tier.release();
  await expect.poll(async () => (await get(at.dashboard, "/api/tasks/now")).body).toMatchObject({ running: [{ id: lead, with: [other] }], queued: [] });
  expect((await rows(at)).tasks.map(({ id, state }) => [id, state])).toEqual([
    [other, "running"],
    [lead, "running"],
    [first, "ok"],
  ]);
  expect((await send(at.dashboard, `/api/tasks/${other}/stop`)).status).toBe(200);
  for (const id of [lead, other]) expect((await get(at.dashboard, `/api/tasks/${id}`)).body).toMatchObject({ state: "cancelled" });
});

it("a task is stopped once; one that does not run is 404", async () => {
  const at = await guarded();
  const { taskId } = (await send(at.dashboard, "/api/chat/foo", { text: "hold", chat: "page" })).body as { taskId: string };
  await expect.poll(() => at.tier.held).toBe(1);
  expect((await send(at.dashboard, `/api/tasks/${taskId}/stop`)).status).toBe(200);
  expect((await get(at.dashboard, `/api/tasks/${taskId}`)).body).toMatchObject({ state: "cancelled" });
  expect(await send(at.dashboard, `/api/tasks/${taskId}/stop`)).toMatchObject({ status: 404, body: { code: "SVC_DASHBOARD_TASK_UNKNOWN" } });
});

it("AUTH-09 a reader sees tasks and chats and starts none; chats of two tokens are never the same", async () => {
  const at = await guarded({ dashboard: { token: "the-single-bearer-of-old" } });
  const [reader, writer, other] = await Promise.all([at.token("dashboard:read"), at.token("dashboard:write"), at.token("dashboard:write")]);
  const say = (secret: string) => send(at.dashboard, "/api/chat/foo", { text: "hello", chat: "page" }, bearer(secret));
  expect((await say(reader.secret)).status).toBe(403);
  const { body } = await say(writer.secret);
  await expect.poll(async () => (await get(at.dashboard, "/api/chat/foo", bearer(writer.secret))).body).toMatchObject({ turns: [{ answer: "hello" }] });
  expect((await get(at.dashboard, "/api/chat/foo", bearer(other.secret))).body).toMatchObject({ turns: [] });
  expect((await get(at.dashboard, "/api/tasks", bearer(reader.secret))).body).toMatchObject({ tasks: [{ id: body.taskId }] });
  for (const what of ["replay", "stop"]) expect((await send(at.dashboard, `/api/tasks/${body.taskId}/${what}`, {}, bearer(reader.secret))).status).toBe(403);
  for (const path of ["/api/tasks", "/api/tasks/marks", "/api/tasks/now", "/api/tasks/agents", "/api/tasks/series", "/api/tasks/events", "/api/chat/foo"])
    expect((await get(at.dashboard, path)).status, path).toBe(401);
});

it("a replay runs the message once more beside the first, changed where that is asked for", async () => {
  const at = await guarded();
  const { body } = await send(at.daemon, "/task", { agent: "foo", message: "once" });
  const again = (await send(at.dashboard, `/api/tasks/${body.taskId}/replay`)).body as { taskId: string };
  const changed = (await send(at.dashboard, `/api/tasks/${body.taskId}/replay`, { message: "twice", agent: "hidden" })).body as { taskId: string };
  await expect
    .poll(async () => (await get(at.dashboard, `/api/tasks/${again.taskId}`)).body)
    .toMatchObject({ state: "ok", trace: { message: "once", agent: "foo" } });
  await expect.poll(async () => (await get(at.dashboard, `/api/tasks/${changed.taskId}`)).body).toMatchObject({ trace: { message: "twice", agent: "hidden" } });
  expect((await get(at.dashboard, "/api/chat/foo")).body).toMatchObject({ turns: [] });
});

it("the plots count each task where it began, and lanes say how it ended", async () => {
  const at = await withTasks(90, (n) => ({
    agent: n % 2 === 0 ? "foo" : "foobar",
    took: 1_000 * (1 + (n % 4)),
    usage: { input: 100, output: 20, cacheRead: 5 },
    ...(n === 88 ? { status: "error", errorKind: "engine", error: "no" } : {}),
  }));
  const hour = (await get(at.dashboard, "/api/tasks/series?range=1h")).body as Record<string, never> & {
    tasks: number[];
    total: { tasks: number };
    lanes: { agent: string; failed: number; spans: { count: number }[] }[];
  };
  expect(hour.tasks).toHaveLength(60);
  expect(hour.total.tasks).toBe(hour.tasks.reduce((sum, count) => sum + count, 0));
  expect(hour.total.tasks).toBeGreaterThanOrEqual(58);
  expect(hour.lanes.find(({ agent }) => agent === "foo")?.failed).toBe(1);
  const week = (await get(at.dashboard, "/api/tasks/series?range=7d")).body;
  expect(week).toMatchObject({ total: { tasks: 90, tokens: 90 * 125, errors: 1, median: 2_000, p95: 4_000 } });
  expect(week).not.toHaveProperty("knownFrom");
  // What comes later is counted without reading the others again.
  const { body } = await send(at.daemon, "/task", { agent: "foo", message: "one more" });
  expect(body.ok).toBe(true);
  expect((await get(at.dashboard, "/api/tasks/series?range=7d")).body).toMatchObject({ total: { tasks: 91 } });
});

it("agents say who is busy, broken, worn by a session, and when they last worked", async () => {
  const at = await withTasks(3, (n) => (n === 2 ? { agent: "hidden", status: "error", errorKind: "auth", error: "the key is refused" } : {}));
  await send(at.dashboard, "/api/chat/foobar", { text: "hold", chat: "page" });
  await expect.poll(() => at.tier.held).toBe(1);
  const { agents } = (await get(at.dashboard, "/api/tasks/agents")).body as { agents: { id: string }[] };
  const of = (id: string) => agents.find((agent) => agent.id === id);
  expect(of("foo")).toMatchObject({ running: 0, last: { state: "ok", id: at.ids[1] } });
  expect(of("foobar")).toMatchObject({ running: 1, queued: 0 });
  expect(of("hidden")).toMatchObject({ broken: "the key is refused" });
});

it("a hundred thousand tasks are listed, searched and counted in short pieces", { timeout: 120_000 }, async () => {
  const count = Number(process.env.SVC_SOAK ?? 0) > 0 ? 100_000 : 20_000;
  const at = await withTasks(count, (n) => ({
    at: NOW - (count - n) * 5_000,
    agent: n % 7 === 0 ? "foobar" : "foo",
    text: `task ${n} ${"and some words ".repeat(8)}`,
    usage: { input: 10, output: 2 },
  }));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const measure = async (what: string, path: string) => {
    delay.enable();
    const from = performance.now();
    const answer = await get(at.dashboard, path);
    const took = performance.now() - from;
    delay.disable();
    if (process.env.SVC_SOAK !== undefined) console.log(`${what}: ${took.toFixed(0)} ms, the loop held for ${(delay.max / 1e6).toFixed(1)} ms at most`);
    delay.reset();
    expect(answer.status).toBe(200);
    return answer.body as Record<string, never>;
  };
  const { total, marks } = (await measure("marks", "/api/tasks/marks")) as unknown as { total: number; marks: string[] };
  expect(total).toBe(count);
  await measure("the last page", `/api/tasks?below=${marks.at(-1)}`);
  await measure("a page in the middle", `/api/tasks?below=${marks[marks.length >> 1]}`);
  await measure("marks of an agent", "/api/tasks/marks?agent=foobar");
  await measure("a search for nothing", "/api/tasks?text=nothing-like-it");
  await expect.poll(async () => (await measure("seven days", "/api/tasks/series?range=7d")).knownFrom, { timeout: 60_000 }).toBeUndefined();
  expect(await measure("seven days, known", "/api/tasks/series?range=7d")).toMatchObject({ total: { tasks: count } });
  await measure("now", "/api/tasks/now");
});
