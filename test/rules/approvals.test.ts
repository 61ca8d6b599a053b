import { definePlugin, type Plugin, type TierEvent } from "@svc/sdk";
import { permissionQuestions } from "@svc/sdk/engine";
import { describe, expect, it, vi } from "vitest";
import { post, temporaryFolder } from "../kit/kernel.ts";
import { type Asking, createChat, question, runAsking } from "./approvals.harness.ts";

const soon = (check: () => unknown) => vi.waitFor(check, { timeout: 15_000, interval: 10 });
const me = { by: "Bob", surface: "command line" };
const get = async (base: string, path: string) => (await fetch(base + path)).json() as Promise<Record<string, never>>;

describe("OPS-06 a question", () => {
  it("OPS-06 is asked with buttons in the configured chat, and the pressed one decides it and is told there", async () => {
    const { approvals, chat, heard } = await runAsking();
    const { id } = await approvals.ask(question("deploy", { detail: "rm -rf `build`\n```\nfake" }));
    await soon(() => expect(chat.said).toHaveLength(1));
    expect(chat.said[0]).toMatchObject({ target: { channel: "chat", chat: "boss" }, text: expect.stringContaining("rm -rf `build`") });
    expect(chat.said[0]?.choices?.map(({ label }) => label)).toEqual(["Approve", "Reject", "Later"]);
    const waiting = approvals.wait(id);
    await chat.press("Approve");
    expect(await waiting).toMatchObject({ id, state: "approved", choice: "approve", by: "Ann (u1)", surface: "chat", digest: "digest of deploy" });
    await soon(() => expect(heard.map(({ state }) => state)).toEqual(["approved"]));
    await soon(() => expect(chat.shown[0]).toContain("Approved by Ann"));
    expect(await approvals.list({ open: true })).toEqual([]);
  });

  it("OPS-06 is asked with numbered lines where the channel has no buttons, and the number decides it", async () => {
    const { approvals, chat, tier, tasks } = await runAsking({ chat: createChat(false) });
    const { id } = await approvals.ask(question("deploy"));
    await soon(() => expect(chat.shown).toEqual([expect.stringContaining("1. Approve\n2. Reject\n3. Later\n\nAnswer with the number.")]));
    // What is behind it in the chat has left: that the question was sent is stored.
    await (await tasks.deliver({ kind: "notice", target: { channel: "chat", chat: "boss" }, text: "hello" })).sent;
    await chat.say("2");
    expect(await approvals.wait(id)).toMatchObject({ state: "rejected", by: "Ann (u1)", surface: "chat" });
    await soon(() => expect(chat.shown[2]).toContain("Rejected by Ann"));
    expect(tier.prompts).toEqual([]);
  });

  it("OPS-06 that asks for more than maxExpiryDays gets that maximum", async () => {
    const { approvals } = await runAsking({ approvals: { maxExpiryDays: 2, defaultExpiryDays: 1 } });
    const [long, usual] = [await approvals.ask(question("a", { expiresMs: 365 * 86_400_000 })), await approvals.ask(question("b"))];
    const days = async ({ id }: { id: string }) => {
      const found = await approvals.get(id);
      return ((found?.expiresAt ?? 0) - (found?.askedAt ?? 0)) / 86_400_000;
    };
    expect([await days(long), await days(usual)]).toEqual([2, 1]);
  });

  it("OPS-06 that nobody answers expires: it counts as refused, the agent is told, and a later answer is 410", async () => {
    const { approvals, heard, tier, daemon, chat } = await runAsking();
    const { id } = await approvals.ask(question("a", { expiresMs: 300, agent: "a" }));
    expect(await approvals.wait(id)).toMatchObject({ state: "expired" });
    await soon(() => expect(heard.map(({ state }) => state)).toEqual(["expired"]));
    await soon(() => expect(tier.prompts).toEqual([expect.stringMatching(/Your question 'Do a' .* it expired, .* counts as refused/)]));
    expect(await post(daemon, `/approvals/${id}/approve`, {})).toMatchObject({ status: 410, body: { code: "SVC_APPROVAL_OVER" } });
    await soon(() => expect(chat.shown[0]).toContain("Expired, and so refused"));
  });

  it("OPS-06 tells its agent nothing where notifyAgent is off", async () => {
    const { approvals, tier, heard } = await runAsking({ approvals: { notifyAgent: false } });
    const { id } = await approvals.ask(question("a", { agent: "a" }));
    await approvals.decide(id, "reject", me);
    await soon(() => expect(heard).toHaveLength(1));
    expect(tier.prompts).toEqual([]);
  });

  it("OPS-06 is listed and decided on the page, and GET decides nothing", async () => {
    const { approvals, page, heard } = await runAsking();
    const first = (await approvals.ask(question("a"))).id;
    const second = (await approvals.ask(question("b"))).id;
    const { approvals: open } = await get(page, "/api/approvals");
    expect((open as unknown as { id: string }[]).map(({ id }) => id).sort()).toEqual([first, second].sort());
    for (const verb of ["approve", "reject", "later"]) expect((await fetch(`${page}/api/approvals/${first}/${verb}`)).status).toBe(405);
    expect((await approvals.list({ open: true })).length).toBe(2);
    expect(await post(page, `/api/approvals/${first}/approve`, {})).toMatchObject({ status: 200, body: { decision: { state: "approved", surface: "page" } } });
    expect(await post(page, `/api/approvals/${second}/reject`, {})).toMatchObject({ status: 200, body: { decision: { state: "rejected" } } });
    expect(await post(page, "/api/approvals/nothing/reject", {})).toMatchObject({ status: 404, body: { code: "SVC_APPROVAL_UNKNOWN" } });
    await soon(() => expect(heard.map(({ state }) => state).sort()).toEqual(["approved", "rejected"]));
  });

  it("OPS-06 the page needs the scope to write, the daemon's routes this machine", async () => {
    const { approvals, page, daemon } = await runAsking({ config: { dashboard: { enabled: true, port: 0, token: "the-bearer-of-the-page" } } });
    const { id } = await approvals.ask(question("a"));
    expect((await post(page, `/api/approvals/${id}/approve`, {})).status).toBe(401);
    expect((await fetch(`${page}/api/approvals`)).status).toBe(401);
    expect((await post(daemon, `/approvals/${id}/approve`, {}, { "x-forwarded-for": "8.8.8.8" })).status).toBe(403);
    expect((await approvals.get(id))?.state).toBe("open");
    expect((await post(page, `/api/approvals/${id}/approve`, {}, { authorization: "Bearer the-bearer-of-the-page" })).status).toBe(200);
  });

  it("OPS-06 put off is taken from the chat, asked again later, and lives until then", async () => {
    const { approvals, chat, page } = await runAsking({ approvals: { defaultExpiryDays: 0.001 } });
    const { id } = await approvals.ask(question("a"));
    await soon(() => expect(chat.said).toHaveLength(1));
    await chat.press("Later");
    await soon(async () => expect((await approvals.get(id))?.laterAt).toBeGreaterThan(Date.now()));
    const { expiresAt = 0, laterAt = 0 } = (await approvals.get(id)) ?? {};
    expect(expiresAt).toBeGreaterThan(laterAt);
    await soon(() => expect(chat.shown[0]).toContain("Put off by Ann"));
    await expect(chat.press("Approve")).rejects.toMatchObject({ code: "SVC_CHOICE_CLOSED" });
    expect((await post(page, `/api/approvals/${id}/later`, { hours: 0.00005 })).status).toBe(200);
    await soon(() => expect(chat.said).toHaveLength(2));
    await chat.press("Reject");
    await soon(async () => expect((await approvals.get(id))?.state).toBe("rejected"));
  });

  it("OPS-06 the first answer counts and the second is told who was first, and when", async () => {
    const { approvals, page } = await runAsking();
    const { id } = await approvals.ask(question("a"));
    const { at } = await approvals.decide(id, "approve", me);
    const second = await post(page, `/api/approvals/${id}/reject`, {});
    expect(second).toMatchObject({ status: 409, body: { code: "SVC_APPROVAL_DECIDED" } });
    expect(second.body.error).toContain(`approved by Bob on command line, ${new Date(at).toISOString()}`);
  });
});

it("OPS-06 of a hundred answers at once one counts, and ninety-nine are told whose it was", async () => {
  const { approvals, heard } = await runAsking();
  const { id } = await approvals.ask(question("a"));
  const answers = await Promise.allSettled(
    Array.from({ length: 100 }, (_, n) => approvals.decide(id, n % 2 === 0 ? "approve" : "reject", { by: `person ${n}`, surface: "test" })),
  );
  const won = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const told = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as Error & { code: string }] : []));
  expect([won.length, told.length]).toEqual([1, 99]);
  for (const { code, message } of told)
    expect([code, message]).toEqual(["SVC_APPROVAL_DECIDED", expect.stringContaining(`${won[0]?.state} by ${won[0]?.by} on test`)]);
  await soon(() => expect(heard).toHaveLength(1));
  expect(heard[0]).toEqual(won[0]);
});

describe("who may answer on chat", () => {
  it("is who writes in the configured chat directly, and nobody in a group unless he is listed", async () => {
    const { approvals, chat } = await runAsking({ approvals: { allowFrom: ["chat:u7"] } });
    const { id } = await approvals.ask(question("a"));
    await soon(() => expect(chat.said).toHaveLength(1));
    await chat.press("Approve", { id: "u2", name: "Eve", direct: false });
    await soon(() => expect(chat.shown.at(-1)).toContain("chat:u2 may not answer questions here"));
    expect((await approvals.get(id))?.state).toBe("open");
    await chat.press("Approve", { id: "u7", name: "Gus", direct: false });
    await soon(async () => expect((await approvals.get(id))?.decision).toMatchObject({ state: "approved", by: "Gus (u7)" }));
  });

  it("in a chat that the question names, only the listed ones get buttons that count; without any it is only shown", async () => {
    const listed = await runAsking({ approvals: { allowFrom: ["chat:u7"] } });
    await listed.approvals.ask(question("a", { destination: { channel: "chat", chat: "team" } }));
    await soon(() => expect(listed.chat.said).toHaveLength(2));
    await expect(listed.chat.press("Approve", { chat: "team", direct: false })).rejects.toMatchObject({ code: "SVC_CHOICE_FOREIGN" });
    const none = await runAsking();
    await none.approvals.ask(question("a", { destination: { channel: "chat", chat: "team" } }));
    await soon(() => expect(none.chat.said).toHaveLength(2));
    expect(none.chat.said.map(({ target, choices = [] }) => [target.chat, choices.length])).toEqual([
      ["boss", 3],
      ["team", 0],
    ]);
  });
});

describe("the asking plugin", () => {
  it("gets one question for one action, and another one when the action has changed", async () => {
    const { approvals, heard } = await runAsking();
    const first = await approvals.ask(question("v1", { key: "job:x" }));
    expect(await approvals.ask(question("v1", { key: "job:x" }))).toEqual(first);
    const second = await approvals.ask(question("v2", { key: "job:x" }));
    expect(second.id).not.toBe(first.id);
    expect(await approvals.wait(first.id)).toMatchObject({ state: "withdrawn", reason: "what it asks about has changed" });
    await expect(approvals.decide(first.id, "approve", me)).rejects.toMatchObject({ code: "SVC_APPROVAL_OVER", status: 410 });
    await approvals.decide(second.id, "approve", me);
    expect(await approvals.ask(question("v2", { key: "job:x" }))).toEqual(second);
    await soon(() =>
      expect(heard.map(({ digest, state }) => [digest, state])).toEqual([
        ["digest of v1", "withdrawn"],
        ["digest of v2", "approved"],
      ]),
    );
  });

  it("that asks a hundred times at once under one key asks once", async () => {
    const { approvals } = await runAsking();
    const asked = await Promise.all(Array.from({ length: 100 }, () => approvals.ask(question("v1", { key: "job:x" }))));
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1);
    expect(await approvals.list()).toHaveLength(1);
  });

  it("is handed a decision again until it takes it", async () => {
    let refusals = 2;
    const { approvals, heard } = await runAsking({
      hear: async () => {
        if (refusals-- > 0) throw new Error("not now");
      },
    });
    const { id } = await approvals.ask(question("a"));
    await approvals.decide(id, "approve", me);
    await soon(() => expect(heard).toHaveLength(1));
    expect(refusals).toBe(-1);
  });

  it("is handed a decision after a restart that it was not there to hear", async () => {
    const dataFolder = await temporaryFolder();
    const never = await runAsking({ dataFolder, hear: () => Promise.reject(new Error("never")) });
    const { id } = await never.approvals.ask(question("a"));
    await never.approvals.decide(id, "approve", me);
    await never.kernel.stop();
    const { heard } = await runAsking({ dataFolder });
    await soon(() => expect(heard).toMatchObject([{ id, state: "approved", by: "Bob" }]));
    expect(never.heard).toEqual([]);
  });

  it("can give choices of its own", async () => {
    const { approvals, chat } = await runAsking();
    const choices = [
      { id: "once", label: "Once" },
      { id: "always", label: "Always" },
      { id: "no", label: "Never", rejects: true },
    ];
    const { id } = await approvals.ask(question("a", { choices }));
    await soon(() => expect(chat.said).toHaveLength(1));
    await expect(approvals.decide(id, "approve", me)).rejects.toMatchObject({ code: "SVC_APPROVAL_CHOICE", status: 400 });
    await chat.press("Always");
    expect(await approvals.wait(id)).toMatchObject({ state: "approved", choice: "always" });
  });

  it("is refused a question that people could not judge", async () => {
    const { approvals } = await runAsking();
    for (const wrong of [
      { title: " " },
      { digest: "" },
      { kind: "No Word" },
      { choices: [] },
      { choices: [{ id: "later", label: "L" }] },
      { detail: "x".repeat(100_001) },
    ])
      await expect(approvals.ask(question("a", wrong)), JSON.stringify(wrong).slice(0, 80)).rejects.toMatchObject({ code: "SVC_APPROVAL_QUESTION" });
    expect(await approvals.digest({ a: 1, b: { c: [1, { d: 2, e: 3 }] } })).toBe(await approvals.digest({ b: { c: [1, { e: 3, d: 2 }] }, a: 1 }));
    expect(await approvals.digest({ a: 1 })).not.toBe(await approvals.digest({ a: "1" }));
  });

  it("whose run ends or whose daemon restarts has its question withdrawn", async () => {
    const dataFolder = await temporaryFolder();
    const { approvals, kernel, heard, tier } = await runAsking({ dataFolder });
    const { id } = await approvals.ask(question("a", { taskId: "task_x", agent: "a" }));
    await expect(approvals.later(id, undefined, me)).rejects.toMatchObject({ code: "SVC_APPROVAL_RUN", status: 409 });
    await kernel.stop();
    const again = await runAsking({ dataFolder });
    await soon(async () =>
      expect((await again.approvals.get(id))?.decision).toMatchObject({ state: "withdrawn", reason: expect.stringContaining("restarted") }),
    );
    expect([heard, again.heard, tier.prompts, again.tier.prompts]).toEqual([[], [], [], []]);
  });

  it("asks for an agent that is gone when the decision comes: it is decided all the same", async () => {
    const { approvals, heard } = await runAsking();
    const { id } = await approvals.ask(question("a", { agent: "gone" }));
    await approvals.decide(id, "approve", me);
    await soon(() => expect(heard).toHaveLength(1));
  });
});

describe("K28 a run that asks", () => {
  /** An engine that asks about one call in each turn. */
  const asks = (said: string[]) =>
    definePlugin({
      kind: "tier",
      name: "asks",
      version: "1.0.0",
      svc: "*",
      capabilities: ["services"],
      setup(ctx) {
        ctx.provide.tier({
          name: "asks",
          async *run(turn, { prompt }, signal): AsyncIterable<TierEvent> {
            const told: TierEvent[] = [];
            const ask = permissionQuestions({ services: ctx.services, turn, signal, tell: (event) => void told.push(event) });
            const answer = ask?.({ tool: "Shell", input: { command: prompt } }) ?? Promise.resolve({ allow: false, reason: "nobody asked" });
            while (told.length === 0 && ask !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
            yield* told.splice(0);
            const { allow, reason } = await answer;
            yield* told.splice(0);
            if (signal.aborted) return;
            said.push(allow ? `did ${prompt}` : reason);
            yield { type: "done", text: said.at(-1) ?? "" };
          },
        });
      },
    }) as Plugin<never>;
  const agent = { tier: "asks", permissionQuestions: "ask", maxConcurrent: 4 };

  it("shows the whole call in chat and stands in the trace with who allowed it; by default nobody is asked", async () => {
    const said: string[] = [];
    const { kernel, chat, message, tier } = await runAsking({ inline: [asks(said)], agent });
    const running = kernel.tasks.run(message("rm -rf build"));
    await soon(() => expect(chat.said).toHaveLength(1));
    expect(chat.said[0]?.text).toContain('"command": "rm -rf build"');
    expect(chat.said[0]?.choices?.map(({ label }) => label)).toEqual(["Allow this once", "Deny"]);
    await soon(() => expect(kernel.tasks.running().map(({ step }) => step)).toEqual(["waiting"]));
    await chat.press("Allow this once");
    const { reply, taskId } = await running;
    expect(reply).toBe("did rm -rf build");
    expect(JSON.stringify((await kernel.traces.get(taskId))?.steps)).toContain("approved by Ann (u1) on chat");
    // The run knows it by itself.
    expect(tier.prompts).toEqual([]);
    const silent = await runAsking({ inline: [asks(said)], agent: { tier: "asks" } });
    expect((await silent.kernel.tasks.run(silent.message("ls"))).reply).toBe("nobody asked");
  });

  it("withdraws its question when it is cancelled; a restart ends the question and the resumed run asks anew", async () => {
    const said: string[] = [];
    const dataFolder = await temporaryFolder();
    const first = await runAsking({ inline: [asks(said)], agent, dataFolder });
    const { taskId } = await first.kernel.tasks.accept(first.message("one"));
    await soon(async () => expect(await first.approvals.list({ open: true })).toHaveLength(1));
    await first.kernel.tasks.cancel(taskId);
    await soon(async () => expect((await first.approvals.list())[0]).toMatchObject({ state: "withdrawn" }));
    await first.kernel.tasks.accept(first.message("two", { entry: "channel", channel: "chat", chat: "c1" }));
    await soon(async () => expect(await first.approvals.list({ open: true })).toHaveLength(1));
    const [before] = await first.approvals.list({ open: true });
    await first.kernel.stop({ drainSeconds: 0 });
    const second = await runAsking({ inline: [asks(said)], agent, dataFolder });
    await soon(async () => expect(await second.approvals.list({ open: true })).toHaveLength(1));
    expect((await second.approvals.get(before?.id ?? ""))?.state).toBe("withdrawn");
    await soon(() => expect(second.chat.said.length).toBeGreaterThan(0));
    await second.chat.press("Deny");
    await soon(() => expect(said.at(-1)).toContain("A person was asked about this call and refused it."));
  });
});

describe("an agent", () => {
  const call = (running: Asking, input: object) => post(running.daemon, "/agents/a/tools/svc_approval_wait", input).then(({ body }) => body.text);

  it("waits for its own decision with a tool, and is told nothing about others'", async () => {
    const running = await runAsking();
    expect(await call(running, {})).toBe("You have asked nothing.");
    const mine = (await running.approvals.ask(question("mine", { agent: "a" }))).id;
    const other = (await running.approvals.ask(question("other", { agent: "b" }))).id;
    expect(await call(running, { id: other })).toBe(`You have no question '${other}'.`);
    const waiting = call(running, {});
    await running.approvals.decide(mine, "approve", me);
    expect(await waiting).toContain(`Question ${mine} ('Do mine'): approved by Bob on command line`);
  });
});
