import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tier, TierEvent } from "../tier.ts";
import { keepsSessions } from "../tier-abilities.ts";
import { collections } from "./collections.ts";
import { answerOf, type ContractAgent, howItEnded, isEnd, runTurn, streamedText, until } from "./contract-turn.ts";
import { inTime, type Runner } from "./runner.ts";

/** Subject of `tierContract`; created afresh for each test. The engine behind the tier is the author's strict fake, or the real one. */
export interface TierSubject {
  readonly tier: Tier;
  /** A prompt that the engine answers in several pieces, with at least one step (unless `toolless`) and with usage, and a part of the answer. */
  readonly works: { readonly prompt: string; readonly answer: string };
  /** A second prompt with another answer, for runs side by side. */
  readonly other: { readonly prompt: string; readonly answer: string };
  /** A prompt that makes the engine fail. */
  readonly fails: string;
  /** A prompt that keeps the engine busy until it is aborted. */
  readonly endless: string;
  /** Prompts at which the engine is silent from the start until it is aborted, one for each kind of silence: before the first byte, after the headers ... */
  readonly silent?: readonly string[];
  /** A prompt that costs tokens at once and then keeps the engine busy until it is aborted. */
  readonly spends?: string;
  /** The engine has no tools: `works` takes no step. */
  readonly toolless?: boolean;
  /** Fields of the agent that matter to the tier, such as its model and its settings. */
  readonly agent?: ContractAgent;
  /** Whether all processes and connections of the engine have ended; called after each abort. */
  idle?(): Promise<boolean> | boolean;
  dispose?(): Promise<void>;
}

/** Missing features of an engine, whose cases are skipped: it is never silent before its first word; it reports no tokens, or none of a cancelled run. */
export type TierLack = "silence" | "tokens" | "tokens of a cancelled run";

/**
 * Contract suite of every tier. Run it with any runner: `tierContract({ describe, it }, () => ({ tier, works, other, fails, endless, silent, spends
 * }))`. A kind of prompt that makes no sense for an engine is declared in `lacks`.
 */
export function tierContract(
  runner: Runner,
  make: () => TierSubject | Promise<TierSubject>,
  { lacks = [] }: { readonly lacks?: readonly TierLack[] } = {},
): void {
  runner.describe("tier contract", () => {
    const it: TierTest = (name, test) =>
      void runner.it(name, async () => {
        const subject = await make();
        try {
          await test(subject);
        } finally {
          await subject.dispose?.();
        }
      });
    eventTests(it, lacks);
    abortTests(it, lacks);
    conversationTests(it);
  });
}

/** Defines one test, which is given a subject of its own. */
type TierTest = (name: string, test: (subject: TierSubject) => Promise<void>) => void;

/** Cases about the events of one run. */
function eventTests(it: TierTest, lacks: readonly TierLack[]): void {
  it("ends with exactly one done or error, and nothing after it", async (subject) => {
    for (const prompt of [subject.works.prompt, subject.fails]) {
      const events = await collect(subject, prompt);
      const ends = events.filter(isEnd);
      assert.equal(ends.length, 1, `the stream has ${ends.length} ends`);
      assert.equal(events.at(-1), ends[0], "something came after the end");
    }
  });

  it("streams the text that done.text repeats, where done has one", async (subject) => {
    const { works } = subject;
    const events = await collect(subject, works.prompt);
    const done = events.at(-1);
    assert.equal(done?.type, "done", howItEnded(events));
    const streamed = streamedText(events);
    if (done?.type === "done" && done.text !== undefined && streamed !== "") assert.equal(streamed, done.text);
    assert.ok(answerOf(events).includes(works.answer), `the answer was ${JSON.stringify(answerOf(events))}`);
  });

  it("pairs the start and end of a step by id, and ends all that it starts", async (subject) => {
    const open = new Map<string, string>();
    let steps = 0;
    for (const event of await collect(subject, subject.works.prompt)) {
      if (event.type !== "step") continue;
      steps += 1;
      const { id, name, phase } = event.step;
      if (phase === "start") {
        assert.ok(!open.has(id), `the step ${id} starts twice`);
        open.set(id, name);
      } else if (open.has(id)) {
        assert.equal(name, open.get(id), `the step ${id} changes its name`);
        open.delete(id);
      }
    }
    assert.ok(subject.toolless || steps > 0, "give a prompt that makes the engine take a step");
    assert.deepEqual([...open.keys()], [], "steps without an end");
  });

  it("tells the tokens of the turn, not a running sum", async (subject) => {
    if (lacks.includes("tokens")) return;
    const usage = async () => (await collect(subject, subject.works.prompt)).filter((event) => event.type === "usage").at(-1)?.usage;
    const [once, again] = [await usage(), await usage()];
    assert.ok(once && again, "no usage was told");
    const { cost = 0, ...counts } = once;
    assert.ok(Number.isFinite(cost) && cost >= 0, `${cost} is no cost in US dollars`);
    for (const count of Object.values(counts)) assert.ok(Number.isInteger(count) && count >= 0, `${count} is no number of tokens`);
    assert.ok(again.output < once.output * 2 || once.output === 0, `the same turn costs ${once.output}, then ${again.output}`);
  });

  it("tells a failing engine as an error event with kind and message, and does not throw", async (subject) => {
    const end = (await collect(subject, subject.fails)).at(-1);
    assert.equal(end?.type, "error");
    assert.ok(end?.type === "error" && end.kind && end.message, "kind or message is empty");
  });

  it("yields events that are plain JSON", async (subject) => {
    for (const event of await collect(subject, subject.works.prompt)) assert.deepEqual(JSON.parse(JSON.stringify(event)), event);
  });
}

/** Cases about aborted runs. */
function abortTests(it: TierTest, lacks: readonly TierLack[]): void {
  it("ends within 5 s of an abort, without throwing and without calling it done", async (subject) =>
    void (await aborted(subject, subject.endless, () => sleep(200))));

  it("ends within 5 s of an abort while it starts", async (subject) => {
    for (const ms of [0, 1, 10, 50]) await aborted(subject, subject.endless, () => sleep(ms));
  });

  it("hears an abort after the garbage collector has run, also while the engine is silent", async (subject) => {
    const silent = asked(subject.silent, lacks, "silence", "silent") ?? [];
    for (const prompt of [subject.endless, ...silent]) await aborted(subject, prompt, collections);
  });

  it("tells the tokens of a cancelled run", async (subject) => {
    const spends = asked(subject.spends, lacks, "tokens of a cancelled run", "spends");
    if (spends === undefined) return;
    const events = await aborted(subject, spends, () => sleep(1_000));
    const told = events.filter((event) => event.type === "usage").at(-1)?.usage;
    assert.ok(told !== undefined && told.input + told.output > 0, "no tokens were told of the run that was cancelled");
  });

  it("starts nothing when the signal has aborted before", async (subject) => {
    const events = await inTime(5_000, "a run aborted before", collect(subject, subject.endless, { signal: AbortSignal.abort(new Error("cancelled")) }));
    assert.ok(!events.some((event) => event.type === "done"));
    await idle(subject);
  });
}

/** Cases about separate conversations, and about continuing one. */
function conversationTests(it: TierTest): void {
  it("keeps two runs side by side apart", async (subject) => {
    const { works, other } = subject;
    const [left, right] = await Promise.all([collect(subject, works.prompt, { name: "left" }), collect(subject, other.prompt, { name: "right" })]);
    assert.ok(answerOf(left).includes(works.answer) && !answerOf(left).includes(other.answer), howItEnded(left));
    assert.ok(answerOf(right).includes(other.answer) && !answerOf(right).includes(works.answer), howItEnded(right));
  });

  it("leaves a conversation alone when another one is cancelled", async (subject) => {
    const { works } = subject;
    const abort = new AbortController();
    const cancelled = collect(subject, subject.endless, { signal: abort.signal, name: "left" });
    const kept = collect(subject, works.prompt, { name: "right" });
    await sleep(50);
    abort.abort(new Error("cancelled"));
    assert.ok(!(await inTime(5_200, "the end of the cancelled run", cancelled)).some((event) => event.type === "done"), "an aborted run is not done");
    const events = await kept;
    assert.ok(answerOf(events).includes(works.answer), howItEnded(events));
  });

  it("goes on with a session that it has named, where it keeps sessions", async (subject) => {
    const { tier, works, other } = subject;
    if (!keepsSessions(tier)) return;
    const first = await collect(subject, other.prompt);
    const session = first.flatMap((event) => (event.type === "session" ? [event.id] : [])).at(-1);
    assert.ok(session, `no session was named: ${howItEnded(first)}`);
    const second = await collect(subject, works.prompt, { session });
    assert.equal(second.at(-1)?.type, "done", howItEnded(second));
    assert.ok(answerOf(second).includes(works.answer), `the answer was ${JSON.stringify(answerOf(second))}`);
  });
}

interface Asked {
  readonly signal?: AbortSignal;
  readonly name?: string;
  readonly session?: string;
}

const collect = (subject: TierSubject, prompt: string, asked: Asked = {}): Promise<readonly TierEvent[]> => runTurn({ ...subject, prompt, ...asked });

/** Starts a run, aborts it when `meanwhile` is over, and checks its end. */
async function aborted(subject: TierSubject, prompt: string, meanwhile: () => Promise<void>): Promise<readonly TierEvent[]> {
  const abort = new AbortController();
  const run = collect(subject, prompt, { signal: abort.signal });
  run.catch(() => undefined);
  await meanwhile();
  abort.abort(new Error("cancelled"));
  const events = await inTime(5_200, "the end after the abort", run);
  assert.ok(!events.some((event) => event.type === "done"), "an aborted run is not done");
  assert.ok(events.filter(isEnd).length <= 1, "more than one end");
  await idle(subject);
  return events;
}

async function idle(subject: TierSubject): Promise<void> {
  if (subject.idle !== undefined)
    await inTime(
      5_000,
      "the end of the engine's processes and connections",
      until(() => subject.idle?.() ?? true),
    );
}

/** Returns a prompt of the subject; undefined if the tier declares the needed feature missing. */
function asked<T>(prompt: T | undefined, lacks: readonly TierLack[], lack: TierLack, member: string): T | undefined {
  if (lacks.includes(lack)) return undefined;
  assert.ok(prompt !== undefined, `give the subject '${member}', or declare { lacks: ["${lack}"] }`);
  return prompt;
}
