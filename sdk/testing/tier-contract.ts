import assert from "node:assert/strict";
import type { Tier, TierEvent, Turn, TurnContext } from "../tier.ts";
import { type Runner, within } from "./runner.ts";

/** What an author hands to `tierContract`; made afresh for each test. The engine behind the tier is the author's strict fake, or the real one. */
export interface TierSubject {
  readonly tier: Tier;
  /** A prompt that the engine answers in several pieces, with at least one step (unless `toolless`) and with usage, and what the answer holds. */
  readonly works: { readonly prompt: string; readonly answer: string };
  /** A second prompt with another answer, for runs side by side. */
  readonly other: { readonly prompt: string; readonly answer: string };
  /** A prompt that makes the engine fail. */
  readonly fails: string;
  /** A prompt that keeps the engine busy until it is aborted. */
  readonly endless: string;
  /** The engine has no tools: `works` takes no step. */
  readonly toolless?: boolean;
  /** Whether processes and connections of the engine are gone; asked after the abort. */
  idle?(): Promise<boolean> | boolean;
  dispose?(): Promise<void>;
}

/** What every tier promises. Run it with any runner: `tierContract({ describe, it }, () => ({ tier, works, other, fails, endless }))`. */
export function tierContract(runner: Runner, make: () => TierSubject | Promise<TierSubject>): void {
  const given = (test: (subject: TierSubject) => Promise<void>) => async () => {
    const subject = await make();
    try {
      await test(subject);
    } finally {
      await subject.dispose?.();
    }
  };

  runner.describe("tier contract", () => {
    runner.it(
      "ends with exactly one done or error, and nothing after it",
      given(async ({ tier, works, fails }) => {
        for (const prompt of [works.prompt, fails]) {
          const events = await collect(tier, prompt);
          const ends = events.filter(isEnd);
          assert.equal(ends.length, 1, `the stream has ${ends.length} ends`);
          assert.equal(events.at(-1), ends[0], "something came after the end");
        }
      }),
    );

    runner.it(
      "streams the text that done.text repeats, where done has one",
      given(async ({ tier, works }) => {
        const events = await collect(tier, works.prompt);
        const done = events.at(-1);
        assert.equal(done?.type, "done");
        const streamed = textOf(events);
        if (done?.type === "done" && done.text !== undefined && streamed !== "") assert.equal(streamed, done.text);
        assert.ok(answerOf(events).includes(works.answer), `the answer was ${JSON.stringify(answerOf(events))}`);
      }),
    );

    runner.it(
      "pairs the start and end of a step by id, and ends all that it starts",
      given(async ({ tier, works, toolless }) => {
        const open = new Map<string, string>();
        let steps = 0;
        for (const event of await collect(tier, works.prompt)) {
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
        assert.ok(toolless || steps > 0, "give a prompt that makes the engine take a step");
        assert.deepEqual([...open.keys()], [], "steps without an end");
      }),
    );

    runner.it(
      "tells the tokens of the turn, not a running sum",
      given(async ({ tier, works }) => {
        const usage = async () => (await collect(tier, works.prompt)).filter((event) => event.type === "usage").at(-1)?.usage;
        const [once, again] = [await usage(), await usage()];
        assert.ok(once && again, "no usage was told");
        for (const count of Object.values(once)) assert.ok(Number.isInteger(count) && count >= 0, `${count} is no number of tokens`);
        assert.ok(again.output < once.output * 2 || once.output === 0, `the same turn costs ${once.output}, then ${again.output}`);
      }),
    );

    runner.it(
      "tells a failing engine as an error event with kind and message, and does not throw",
      given(async ({ tier, fails }) => {
        const end = (await collect(tier, fails)).at(-1);
        assert.equal(end?.type, "error");
        assert.ok(end?.type === "error" && end.kind && end.message, "kind or message is empty");
      }),
    );

    runner.it(
      "ends within 5 s of an abort, without throwing and without calling it done",
      given(async ({ tier, endless, idle }) => {
        const abort = new AbortController();
        const events: TierEvent[] = [];
        const run = (async () => {
          for await (const event of tier.run(turn(endless), context(endless), abort.signal)) events.push(event);
        })();
        setTimeout(() => abort.abort(new Error("cancelled")), 200);
        await within(5_200, "the end after the abort", run);
        assert.ok(!events.some((event) => event.type === "done"), "an aborted run is not done");
        assert.ok(events.filter(isEnd).length <= 1, "more than one end");
        if (idle) await within(5_000, "the engine's end", until(idle));
      }),
    );

    runner.it(
      "starts nothing when the signal has aborted before",
      given(async ({ tier, endless, idle }) => {
        const events = await within(5_000, "a run aborted before", collect(tier, endless, AbortSignal.abort(new Error("cancelled"))));
        assert.ok(!events.some((event) => event.type === "done"));
        if (idle) await within(5_000, "the engine's end", until(idle));
      }),
    );

    runner.it(
      "keeps two runs side by side apart",
      given(async ({ tier, works, other }) => {
        const [left, right] = await Promise.all([collect(tier, works.prompt, undefined, "left"), collect(tier, other.prompt, undefined, "right")]);
        assert.ok(answerOf(left).includes(works.answer) && !answerOf(left).includes(other.answer));
        assert.ok(answerOf(right).includes(other.answer) && !answerOf(right).includes(works.answer));
      }),
    );

    runner.it(
      "yields events that are plain JSON",
      given(async ({ tier, works }) => {
        for (const event of await collect(tier, works.prompt)) assert.deepEqual(JSON.parse(JSON.stringify(event)), event);
      }),
    );
  });
}

async function collect(tier: Tier, prompt: string, signal: AbortSignal = new AbortController().signal, id?: string): Promise<TierEvent[]> {
  const events: TierEvent[] = [];
  for await (const event of tier.run(turn(prompt, id), context(prompt), signal)) events.push(event);
  return events;
}

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

const isEnd = (event: TierEvent): boolean => event.type === "done" || event.type === "error";
const textOf = (events: readonly TierEvent[]): string => events.map((event) => (event.type === "text" ? event.text : "")).join("");
const answerOf = (events: readonly TierEvent[]): string => {
  const end = events.at(-1);
  return (end?.type === "done" ? end.text : undefined) ?? textOf(events);
};

let turns = 0;
function turn(prompt: string, name = "agent"): Turn {
  const id = `task_contract_${++turns}`;
  const conversation = `${name}:test:-:chat`;
  return {
    id,
    rootId: `root_${id}`,
    agent: { id: name, name, workspace: process.cwd(), tier: "contract", mentions: [], access: "private", settings: {} },
    route: { agent: name, conversation, reply: { channel: "test", chat: "chat" } },
    messages: [{ id, rootId: `root_${id}`, at: Date.now(), attempts: 0, entry: "task", channel: "test", chat: "chat", text: prompt }],
    strategy: "layered",
    nativeSessions: true,
    attempt: 1,
    startedAt: Date.now(),
  };
}

const context = (prompt: string): TurnContext => ({ system: "You are a test.", layers: [], prompt, media: [], history: [] });
