import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TierEvent } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { stateStore } from "../../kernel/base/state-store.ts";
import { holdTurn } from "../../plugins/features/attach/held-turn.ts";
import { Inbox } from "../../plugins/features/attach/inbox.ts";
import { ANSWER_MS, CLAIM_MS } from "../../plugins/features/attach/item.ts";
import { endPrograms, runAttached, type startProgram } from "../kit/attach.ts";
import { openStore } from "../kit/store.ts";

afterEach(() => {
  endPrograms();
  vi.useRealTimers();
});

/** The wall clock of the daemon, set ahead. */
const setAhead = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });

describe("ATT-01 expiry and drain", () => {
  it("ATT-01 ATT-02 of a thousand drains that meet their deadline each message has exactly one end, and its sender one answer", async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-att-"));
    const store = stateStore(openStore({ file: join(folder, "svc.db") }));
    let now = 1_000_000;
    const inbox = new Inbox(store.scope("feature-attach"), { now: () => now, span: () => 0 });
    const ends = { answered: 0, fallen: 0 };
    try {
      for (let round = 0; round < 1_000; round += 1) {
        const item = await inbox.enqueue({ task: `t${round}`, agent: "a", from: "bob", channel: "http", text: "hi", autonomy: "act" }, []);
        expect(item).toBeDefined();
        const { id, due } = item as NonNullable<typeof item>;
        const told: TierEvent[] = [];
        const signal = new AbortController().signal;
        const turn = (async () => {
          for await (const event of holdTurn(inbox, item as NonNullable<typeof item>, { session: "s" }, signal, () => {})) told.push(event);
        })();
        // Both in one tick, and the clock reaches the deadline somewhere between their looks at it.
        now = due - 1;
        const work = async () => {
          const [taken] = await inbox.drain({ process: "p", agent: "a", session: "s" }, 5);
          return taken === undefined ? undefined : inbox.answer(taken.id, "p", "the answer");
        };
        const later = (turns: number): Promise<void> =>
          turns === 0 ? Promise.resolve() : new Promise<void>((resolve) => setImmediate(resolve)).then(() => later(turns - 1));
        const expire = later(round % 4).then(() => {
          now = due;
          return inbox.expire(id);
        });
        const [answered, expired] = await Promise.all([work(), expire]);
        now = due + ANSWER_MS;
        const swept = await inbox.expire(id);
        await turn;
        expect([answered, expired, swept].filter((one) => one !== undefined && (one.state === "answered" || one.state === "fallen"))).toHaveLength(1);
        expect(told.filter(({ type }) => type === "done" || type === "pass" || type === "error")).toHaveLength(1);
        expect(await inbox.answer(id, "p", "too late")).toBeUndefined();
        ends[(await inbox.get(id))?.state as keyof typeof ends] += 1;
      }
    } finally {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
    // Both sides win: else nothing has met.
    expect(ends.answered + ends.fallen).toBe(1_000);
    expect(Math.min(ends.answered, ends.fallen)).toBeGreaterThan(50);
  }, 120_000);

  it("ATT-01 what nobody takes within 90 s is answered by the agent's own engine; a later drain finds nothing", async () => {
    const { queue, bound, tier, kernel } = await runAttached();
    const program = await bound();
    const { result, taskId } = await queue("hello");
    setAhead(CLAIM_MS + 1_000);
    expect(await result).toMatchObject({ ok: true, reply: "hello" });
    expect(tier.prompts).toEqual(["hello"]);
    expect((await program.ask("next")).body).toEqual({ items: [], left: 0 });
    const steps = (await kernel.traces.get(taskId))?.steps.map(({ output }) => output);
    expect(steps).toEqual(
      expect.arrayContaining([expect.stringMatching(/^queued, session session-\d+ \(process \d+\)$/), expect.stringMatching(/^fallen: deadline, /)]),
    );
  });
});

describe("ATT-02 what was handed out", () => {
  it("ATT-02 is answered by id, and the answer is the task's; a second one is refused with what has happened", async () => {
    const { queue, bound, tier, kernel } = await runAttached();
    const program = await bound();
    const { result, taskId } = await queue("hello");
    const { body } = await program.ask("next");
    expect(body).toMatchObject({ items: [{ from: "bob", channel: "http", text: "hello", cut: false }], left: 0 });
    const [{ id, answerBy }] = body.items as [{ id: string; answerBy: number }];
    expect(answerBy).toBeGreaterThan(Date.now() + CLAIM_MS);
    expect(await program.ask("answer", { id, text: "from the terminal" })).toEqual({ status: 200, body: { state: "answered" } });
    expect(await result).toMatchObject({ ok: true, reply: "from the terminal" });
    expect(await program.ask("answer", { id, text: "again" })).toMatchObject({
      status: 409,
      body: { code: "SVC_ATTACH_LATE", error: `${id} has been answered already.` },
    });
    expect(tier.prompts).toEqual([]);
    expect((await kernel.traces.get(taskId))?.steps.map(({ output = "" }) => output.split(",")[0])).toEqual(
      expect.arrayContaining(["queued", "claimed", "answered"]),
    );
  });

  it("ATT-02 is refused with a reason that its sender gets", async () => {
    const { queue, bound } = await runAttached();
    const program = await bound();
    const { result } = await queue("hello");
    const [{ id }] = (await program.ask("next")).body.items as [{ id: string }];
    expect(await program.ask("answer", { id, refuse: "not my business" })).toEqual({ status: 200, body: { state: "refused" } });
    expect(await result).toMatchObject({ ok: false, errorKind: "refused", error: "not my business" });
  });

  it.each([
    ["its session is detached", (program: Awaited<ReturnType<typeof startProgram>>) => program.ask("detach"), /detached/],
    ["its session ends", (program: Awaited<ReturnType<typeof startProgram>>) => program.hook("session-end", { reason: "prompt_input_exit" }), /ended/],
    ["its program is killed", (program: Awaited<ReturnType<typeof startProgram>>) => program.kill(), /gone/],
  ])("ATT-02 falls back when %s, and so does what waits; an answer after that is refused", async (_, end, why) => {
    const { queue, bound, tier } = await runAttached();
    const program = await bound();
    const taken = await queue("one");
    const [{ id }] = (await program.ask("next")).body.items as [{ id: string }];
    const waiting = await queue("two");
    await end(program);
    expect(await taken.result).toMatchObject({ ok: true, reply: "one" });
    expect(await waiting.result).toMatchObject({ ok: true, reply: "two" });
    expect([...tier.prompts].sort()).toEqual(["one", "two"]);
    const late = await program.ask("answer", { id, text: "late", session: program.session });
    // Its row is gone with the process; where the session is still known, the words say how.
    if (late.status === 409) expect(late.body).toMatchObject({ code: "SVC_ATTACH_LATE", error: expect.stringMatching(why) });
    else expect(late).toMatchObject({ status: 404, body: { code: "SVC_ATTACH_SESSION" } });
  });

  it("ATT-02 falls back when it is not answered within 15 minutes", async () => {
    const { queue, bound } = await runAttached();
    const program = await bound();
    const { result } = await queue("hello");
    const [{ id }] = (await program.ask("next")).body.items as [{ id: string }];
    setAhead(ANSWER_MS + 1_000);
    expect(await result).toMatchObject({ ok: true, reply: "hello" });
    expect(await program.ask("answer", { id, text: "late" })).toMatchObject({ status: 409 });
  });
});

describe("ATT-04 at most five, of at most 4000 characters", () => {
  it("ATT-04 five chats wait under maxConcurrent 1 and one drain returns five; the sixth waits on with its own deadline", async () => {
    const { queue, bound } = await runAttached({ agent: { maxConcurrent: 1 } });
    const program = await bound();
    const sent = [];
    for (const text of ["1", "2", "3", "4", "5", "6"]) sent.push(await queue(text));
    const first = await program.ask("next", { max: 5 });
    expect(first.body).toMatchObject({ items: [{ text: "1" }, { text: "2" }, { text: "3" }, { text: "4" }, { text: "5" }], left: 1 });
    for (const { id, text } of first.body.items as { id: string; text: string }[]) await program.ask("answer", { id, text: `answer ${text}` });
    const second = await program.ask("next");
    expect(second.body).toMatchObject({ items: [{ text: "6" }], left: 0 });
    const [{ id }] = second.body.items as [{ id: string }];
    await program.ask("answer", { id, text: "answer 6" });
    expect((await Promise.all(sent.map(({ result }) => result))).map(({ reply }) => reply)).toEqual([1, 2, 3, 4, 5, 6].map((one) => `answer ${one}`));
    expect((await program.ask("next", { max: 6 })).status).toBe(400);
  });

  it("ATT-04 a longer text is cut with a mark that says how much", async () => {
    const { queue, bound } = await runAttached();
    const program = await bound();
    const { result } = await queue("x".repeat(9_210));
    const [{ id, text, cut }] = (await program.ask("next")).body.items as [{ id: string; text: string; cut: boolean }];
    expect({ text, cut }).toEqual({ text: `${"x".repeat(4_000)}\n[… cut, 5,210 more]`, cut: true });
    await program.ask("answer", { id, text: "ok" });
    await result;
  });
});

describe("ATT-05 one session an agent, one agent a session", () => {
  it("ATT-05 binding an agent that another session wears moves it with what waits; the old one is told nothing is bound, and keeps what it was handed", async () => {
    const { queue, bound, sessions } = await runAttached();
    const old = await bound();
    const taken = await queue("one");
    const [{ id }] = (await old.ask("next")).body.items as [{ id: string }];
    const waiting = await queue("two");
    const fresh = await bound("notify");
    expect(await fresh.ask("bind", { agent: "a", mode: "notify" })).toMatchObject({ status: 200, body: { agent: "a", mode: "notify" } });
    expect(await old.ask("next")).toMatchObject({ status: 409, body: { code: "SVC_ATTACH_UNBOUND", error: expect.stringContaining("Nothing is bound") } });
    const moved = (await fresh.ask("next")).body.items as [{ id: string; text: string }];
    expect(moved).toMatchObject([{ text: "two" }]);
    await fresh.ask("answer", { id: moved[0].id, text: "from the new one" });
    expect(await old.ask("answer", { id: moved[0].id, text: "mine" })).toMatchObject({ status: 409 });
    await old.ask("answer", { id, text: "from the old one" });
    expect([(await taken.result).reply, (await waiting.result).reply]).toEqual(["from the old one", "from the new one"]);
    expect((await sessions()).filter(({ agent }) => agent === "a")).toHaveLength(1);
  });

  it("ATT-05 says from which session it was moved, and lets go of the agent that the new one wore", async () => {
    const agents = { a: { name: "A", workspace: "./w", tier: "scripted" }, b: { name: "B", workspace: "./v", tier: "scripted" } };
    const { queue, bound, sessions } = await runAttached({ config: { agents } });
    const [one, other] = [await bound("manual", "a"), await bound("manual", "b")];
    const left = await queue("for b", { agent: "b" });
    expect((await other.ask("bind", { agent: "a" })).body).toEqual({ agent: "a", mode: "manual", session: other.session, movedFrom: one.session });
    expect(await left.result).toMatchObject({ ok: true, reply: "for b" });
    expect((await sessions()).map(({ agent }) => agent).sort()).toEqual(["a", undefined]);
    expect(await other.ask("bind", { agent: "nobody" })).toMatchObject({ status: 404, body: { code: "SVC_AGENT_UNKNOWN" } });
  });
});
