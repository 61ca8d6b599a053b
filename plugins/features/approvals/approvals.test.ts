import type { Approvals, Lifecycle, Message } from "@svc/sdk";
import { createFakeContext, createFakeTasks, createMemoryStore, serviceContract } from "@svc/sdk/testing";
import { describe, expect, it, vi } from "vitest";
import approvals from "./index.ts";
import type { ApprovalSettings } from "./settings.ts";
import { createWithheldQuestions } from "./withheld.ts";
import { digestText, questionText } from "./words.ts";

const SETTINGS: ApprovalSettings = {
  defaultExpiryDays: 3,
  maxExpiryDays: 30,
  laterHours: 24,
  permissionMinutes: 30,
  notifyAgent: true,
  withheld: true,
  allowFrom: [],
  digest: { enabled: true, time: "07:30", timezone: "Europe/Athens", destination: { channel: "mail", chatId: "boss" } },
};
const question = { kind: "test", title: "Do it", digest: "d1", requestedBy: "plugin test" };

async function setUp({
  settings = {},
  store = createMemoryStore(),
  tasks = createFakeTasks(),
  notifier,
  node = "node_test",
}: {
  settings?: Partial<ApprovalSettings>;
  store?: ReturnType<typeof createMemoryStore>;
  tasks?: ReturnType<typeof createFakeTasks>;
  notifier?: { channel: string; chat: string };
  node?: string;
} = {}) {
  const services = notifier === undefined ? {} : { notifier: { notify: async () => {}, destination: () => notifier } };
  const ctx = createFakeContext<ApprovalSettings>(approvals, { config: { ...SETTINGS, ...settings }, store, tasks, services, agents: [{ id: "a" }] });
  const lifecycle = approvals.setup(Object.create(ctx, { node: { value: { id: node, name: node } } }) as never) as Lifecycle<ApprovalSettings>;
  await lifecycle.start?.();
  const api = ctx.registered.services[0]?.api as Approvals;
  return { ctx, api, lifecycle, tasks, store };
}

serviceContract({ describe, it }, async () => {
  const { api, ctx } = await setUp();
  const { id } = await api.ask(question);
  const open = await api.ask({ ...question, digest: "d2" });
  await api.decide(id, "approve", { by: "Ann", surface: "test" });
  return {
    name: "approvals",
    api,
    works: [
      { name: "get", call: () => api.get(id), check: (answer) => expect(answer).toMatchObject({ state: "approved" }) },
      { name: "wait", call: () => api.wait(id), check: (answer) => expect(answer).toMatchObject({ by: "Ann" }) },
      { name: "list", call: () => api.list(), check: (answer) => expect(answer).toHaveLength(2) },
      { name: "digest", call: () => api.digest({ a: 1 }), check: (answer) => expect(answer).toMatch(/^[0-9a-f]{64}$/) },
      { name: "withdraw", call: () => api.withdraw(id, "no"), check: (answer) => expect(answer).toBe(false) },
    ],
    refuses: [
      { name: "a second decision", call: () => api.decide(id, "reject", { by: "Bob", surface: "test" }) },
      { name: "an unknown question", call: () => api.wait("nothing") },
      { name: "a question without a digest", call: () => api.ask({ ...question, digest: "" }) },
    ],
    waits: [{ name: "wait", call: () => api.wait(open.id, ctx.signal) }],
    end: async () => ctx.end(),
  };
});

describe("the daily list", () => {
  it("goes at its time in its zone to where questions go, and not at all while nothing is open", async () => {
    const { ctx, api, tasks, lifecycle } = await setUp();
    expect(await api.list()).toEqual([]);
    const [job] = ctx.registered.jobs.filter(({ kind }) => kind === "cron");
    expect(job).toMatchObject({ expression: "30 7 * * *", timezone: "Europe/Athens" });
    await job?.run(new Date());
    expect(tasks.delivered).toEqual([]);
    const { id } = await api.ask({ ...question, title: "Send *all* of it", agent: "a" });
    await vi.waitFor(() => expect(tasks.delivered).toHaveLength(1));
    await job?.run(new Date());
    expect(tasks.delivered[1]).toMatchObject({ target: { channel: "mail", chat: "boss" }, text: expect.stringContaining(`\`${id}\` Send \\*all\\* of it`) });
    const planned = () => ctx.registered.jobs.filter(({ kind }) => kind === "cron").map(({ expression }) => expression);
    await lifecycle.reload?.({ ...SETTINGS, digest: { ...SETTINGS.digest, time: "18:05" } });
    await vi.waitFor(() => expect(planned()).toEqual(["5 18 * * *"]));
    await lifecycle.reload?.({ ...SETTINGS, digest: { ...SETTINGS.digest, enabled: false } });
    await vi.waitFor(() => expect(planned()).toEqual([]));
  });

  it("and questions go where notices go, where no destination of their own is set", async () => {
    const { api, tasks } = await setUp({ settings: { digest: { enabled: true, time: "09:00" } }, notifier: { channel: "push", chat: "me" } });
    await api.ask(question);
    await vi.waitFor(() => expect(tasks.delivered.map(({ target }) => target)).toEqual([{ channel: "push", chat: "me" }]));
    const nowhere = await setUp({ settings: { digest: { enabled: true, time: "09:00" } } });
    const { id } = await nowhere.api.ask(question);
    expect((await nowhere.api.get(id))?.state).toBe("open");
    expect(nowhere.tasks.delivered).toEqual([]);
  });
});

it("a question is asked again in a chat that was out of reach for too long", async () => {
  const tasks = createFakeTasks();
  const { deliver } = tasks;
  let lost = 1;
  tasks.deliver = async (delivery) => {
    const { id, sent } = await deliver(delivery);
    const gone = Promise.reject(Object.assign(new Error("expired"), { code: "SVC_DELIVERY_EXPIRED" }));
    gone.catch(() => {});
    return { id, sent: lost-- > 0 ? gone : sent };
  };
  const { api } = await setUp({ tasks });
  const { id } = await api.ask(question);
  await vi.waitFor(() => expect(tasks.delivered).toHaveLength(2));
  await api.decide(id, "approve", { by: "Ann", surface: "test" });
  await vi.waitFor(() => expect(tasks.closed.map((one) => one.id)).toEqual(["delivery_2"]));
});

describe("a start", () => {
  it("loads nothing while nothing is stored, and takes up what is", async () => {
    const first = await setUp();
    expect(first.ctx.registered.jobs).toEqual([]);
    const { id } = await first.api.ask({ ...question, agent: "a" });
    await first.api.decide(id, "reject", { by: "Ann", surface: "test" });
    await vi.waitFor(() => expect(first.tasks.accepted).toHaveLength(1));
    expect(first.tasks.accepted[0] as Message).toMatchObject({
      entry: "approval",
      agent: "a",
      dedupKey: `approval:${id}`,
      text: expect.stringContaining("rejected by Ann"),
    });
    const second = await setUp({ store: first.store });
    const heard: unknown[] = [];
    second.api.onDecided("test", async (decision) => void heard.push(decision));
    await vi.waitFor(() => expect(heard).toMatchObject([{ id, state: "rejected" }]));
    expect(second.tasks.accepted).toEqual([]);
  });
});

it("what failed of a question that is forgotten is not tried again without end", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const { ctx, api } = await setUp();
    api.onDecided("test", () => Promise.reject(new Error("svc.json cannot be written")));
    const { id } = await api.ask(question);
    await api.decide(id, "approve", { by: "Ann", surface: "test" });
    await vi.waitFor(() => expect(ctx.logged.filter(({ level }) => level === "warn")).toHaveLength(1));
    const waiting = () => ctx.registered.jobs.filter(({ kind }) => kind === "after");
    expect(waiting()).toHaveLength(1);
    vi.setSystemTime(Date.now() + 31 * 86_400_000);
    await waiting()[0]?.run(new Date());
    await vi.waitFor(async () => expect(await api.get(id)).toBeUndefined());
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(waiting().map(({ ms }) => ms)).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

it("a daemon that starts on a shared store withdraws the questions of its own runs, and leaves those of others open", async () => {
  const store = { ...createMemoryStore(), shared: true };
  const first = await setUp({ store, node: "n1" });
  const { id } = await first.api.ask({ ...question, taskId: "task_of_n1", agent: "a" });
  const other = await setUp({ store, node: "n2" });
  expect(await other.api.list()).toMatchObject([{ id, state: "open" }]);
  expect(await first.api.get(id)).toMatchObject({ state: "open" });
  const again = await setUp({ store, node: "n1" });
  expect(await again.api.get(id)).toMatchObject({ state: "withdrawn", decision: { reason: expect.stringContaining("restarted") } });
});

it("an answer that is given at another daemon reaches the run that waits within a second", async () => {
  const store = { ...createMemoryStore(), shared: true };
  const first = await setUp({ store, node: "n1" });
  const { id } = await first.api.ask({ ...question, taskId: "task_of_n1", agent: "a" });
  const answer = first.api.wait(id);
  const other = await setUp({ store, node: "n2" });
  await other.api.decide(id, "approve", { by: "Ann", surface: "chat" });
  const [look] = first.ctx.registered.jobs.filter(({ kind, ms }) => kind === "every" && ms === 1_000);
  await look?.run(new Date());
  expect(await Promise.race([answer, "still waits"])).toMatchObject({ state: "approved", by: "Ann" });
});

it("the question about a delivery that was released elsewhere is found by its key, and not among those that are listed", async () => {
  const withdrawn: string[] = [];
  const questions = {
    list: () => Promise.reject(new Error("of many only the newest thousand are listed")),
    keyed: async (key: string) => (key === "delivery:d1" ? { id: "q1" } : undefined),
    withdraw: async (id: string) => withdrawn.push(id) > 0,
  };
  const withheld = createWithheldQuestions({ tasks: createFakeTasks(), log: {} as never }, questions as never);
  for (const delivery of ["d1", "d2"]) await withheld.decidedElsewhere({ data: { delivery } } as never);
  expect(withdrawn).toEqual(["q1"]);
});

it("a default expiry above the maximum is told", () => {
  const check = (days: number) => approvals.config?.check?.({ ...SETTINGS, defaultExpiryDays: days }, { agents: [] });
  expect([check(30), check(31)]).toEqual([[], [{ path: "defaultExpiryDays", message: expect.stringContaining("maxExpiryDays (30)") }]]);
});

describe("the words", () => {
  const approval = { ...question, id: "abcdefgh", choices: [], askedAt: 0, expiresAt: 0, state: "open" as const };

  it("show a detail as it is: nothing in it ends its block or looks like ours", () => {
    const text = questionText({ ...approval, title: "**Approved** [x](http://y)", detail: "```\n**Approval needed:** other\n````" }, "UTC");
    expect(text).toContain("\\*\\*Approved\\*\\* \\[x\\]\\(http://y\\)");
    const [fence = ""] = /^`{5,}$/m.exec(text) ?? [];
    expect(fence).toBe("`````");
    expect(text.split(fence)).toHaveLength(3);
  });

  it("say how much of a long detail is not shown, and where to read it", () => {
    expect(questionText({ ...approval, detail: "x".repeat(3_000) }, "UTC")).toContain(
      "500 more characters: read them before you approve, with svc approval list abcdefgh",
    );
  });

  it("count the open questions", () => {
    expect(digestText([approval], "UTC")).toContain("One question waits");
    expect(digestText([approval, approval], "UTC")).toContain("2 questions wait");
  });
});

it("of many withheld deliveries each is asked about once, however many wait and however fast they come", async () => {
  const tasks = createFakeTasks();
  const asked: string[] = [];
  const questions = {
    digest: async () => "d",
    ask: async ({ key = "" }: { key?: string }) => {
      await new Promise((resolve) => setImmediate(resolve));
      return { id: String(asked.push(key)) };
    },
  };
  const withheld = createWithheldQuestions({ tasks, log: {} as never }, questions as never);
  const hold = (id: string) =>
    tasks.withhold({ delivery: { id, kind: "reply", target: { channel: "mail", chat: "c" }, text: id }, reason: "a policy", at: 1 } as never);
  const ids = Array.from({ length: 30 }, (_, at) => `d${String(at).padStart(2, "0")}`);
  for (const id of ids.slice(0, 10)) {
    hold(id);
    await withheld.askAll();
  }
  await Promise.all(
    ids.slice(10).map((id) => {
      hold(id);
      return withheld.askAll();
    }),
  );
  expect(asked).toEqual(ids.map((id) => `delivery:${id}`));
  // One that comes while the others are being asked about is not left out.
  const under = withheld.askAll();
  hold("d99");
  await Promise.all([under, withheld.askAll()]);
  expect(asked.at(-1)).toBe("delivery:d99");
  expect(asked).toHaveLength(31);
});
