import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tier, TierEvent } from "../tier.ts";
import { collections } from "./collections.ts";
import { answerOf, type ContractAgent, type ContractTurn, howItEnded, isEnd, runTurn, sessionOf, until } from "./contract-turn.ts";
import { inTime, type Runner } from "./runner.ts";

/** Program for the tier: the engine, one that starts and prints nothing (best one that ignores SIGTERM), or a missing one. */
export type EngineProgram = "engine" | "mute" | "missing";

/** A tier between a daemon's start and its stop. */
export interface StartedEngine {
  readonly tier: Tier;
  /** Stops the plugin and ends its processes, as the end of the daemon does. */
  stop(): Promise<void>;
}

/** Subject of `engineContract`; created afresh for each test. */
export interface EngineSubject {
  /** Sets the plugin up as a daemon does. Stored state survives from one start to the next. */
  start(program: EngineProgram): Promise<StartedEngine>;
  /** Ids of the living processes of all starts. */
  processes(): readonly number[];
  /** Fields of the agent that matter to the tier. */
  readonly agent?: ContractAgent;
  /** Settings of the agent with which one process serves several conversations; unset where the tier has no such mode. */
  readonly shared?: Readonly<Record<string, unknown>>;
  /** Prompts that the engine answers, each with a part of the answer. */
  readonly works: { readonly prompt: string; readonly answer: string };
  readonly other: { readonly prompt: string; readonly answer: string };
  /** A prompt that keeps the engine busy after its first words. */
  readonly endless: string;
  /** A prompt at which the engine's model says nothing. */
  readonly silent: string;
  /** A prompt for a session after `other`, and a check whether its answer, or the model's prompt, shows that history. */
  readonly recalls: { readonly prompt: string; knew(events: readonly TierEvent[]): boolean };
  dispose?(): Promise<void>;
}

/** A cancelled run is given up after this: the 4 s of RUN-01, and a busy machine. */
const GONE_MS = 5_200;
/** A program may take its time to come up. */
const ANSWER_MS = 45_000;

/**
 * Contract suite of every tier on a program, beside `tierContract`: the program has ended soon after an abort, whatever it is doing; conversations
 * are independent of each other; a session outlives the daemon; nothing outlives the plugin.
 */
export function engineContract(runner: Runner, make: () => EngineSubject | Promise<EngineSubject>): void {
  const given = (test: (subject: EngineSubject) => Promise<void>) => async () => {
    const subject = await make();
    try {
      await test(subject);
    } finally {
      await subject.dispose?.();
    }
  };
  const started = (program: EngineProgram, test: (subject: EngineSubject, engine: StartedEngine) => Promise<void>) =>
    given(async (subject) => {
      const engine = await subject.start(program);
      try {
        await test(subject, engine);
      } finally {
        await engine.stop();
      }
    });

  runner.describe("engine contract", () => {
    runner.it(
      "FAULT-27 tells that the program is missing, in a run and in a probe",
      started("missing", async (subject, { tier }) => {
        const events = await answered(subject, tier, subject.works.prompt);
        const end = events.at(-1);
        assert.equal(end?.type === "error" && end.kind, "program", howItEnded(events));
        const probed = await tier.probe?.();
        assert.ok(probed === undefined || (probed.ok === false && probed.detail !== ""), "the probe says that the engine is usable");
        assert.deepEqual(subject.processes(), [], "something was started");
      }),
    );

    runner.it(
      "RUN-01 ends a program that says nothing at its start, also after a collection of garbage",
      started("mute", async (subject, { tier }) => {
        for (const meanwhile of [() => sleep(300), collections]) await aborted(subject, tier, subject.works.prompt, meanwhile);
      }),
    );

    runner.it(
      "RUN-01 ends within 5 s of an abort at any moment of the start",
      started("engine", async (subject, { tier }) => {
        for (const ms of [0, 5, 50, 300]) await aborted(subject, tier, subject.endless, () => sleep(ms));
      }),
    );

    runner.it(
      "RUN-01 says nothing while its model is silent, and hears an abort then, also after a collection of garbage",
      started("engine", async (subject, { tier }) => {
        for (const prompt of [subject.silent, subject.endless]) {
          const events = await aborted(subject, tier, prompt, collections);
          if (prompt === subject.silent) assert.equal(answerOf(events), "", "it answers for a silent model");
        }
      }),
    );

    runner.it(
      "leaves a conversation alone when another one in the same process is cancelled, and goes on with both",
      started("engine", async (subject, { tier }) => {
        const { works, other, endless, shared = {} } = subject;
        const abort = new AbortController();
        const asked = (name: string, prompt: string, more: Partial<ContractTurn> = {}) =>
          answered({ ...subject, agent: withSettings(subject.agent, shared) }, tier, prompt, { name, ...more });
        // Up and kept, so that both are in it.
        const first = await asked("right", works.prompt);
        assert.ok(answerOf(first).includes(works.answer), howItEnded(first));
        const left = asked("left", endless, { signal: abort.signal, listen: ({ type }) => type === "text" && abort.abort(new Error("cancelled")) });
        const right = asked("right", other.prompt, { session: sessionOf(first) });
        const events = await left;
        assert.ok(!events.some(({ type }) => type === "done"), "an aborted run is not done");
        const kept = await right;
        assert.ok(answerOf(kept).includes(other.answer), howItEnded(kept));
        const again = await asked("left", works.prompt, { session: sessionOf(events) });
        assert.ok(answerOf(again).includes(works.answer), howItEnded(again));
      }),
    );

    runner.it(
      "goes on with a session after a restart, and leaves nothing running when it stops",
      given(async (subject) => {
        const { other, recalls } = subject;
        for (const settings of subject.shared === undefined ? [{}] : [{}, subject.shared]) {
          const asked = { ...subject, agent: withSettings(subject.agent, settings) };
          const before = await subject.start("engine");
          const said = await answered(asked, before.tier, other.prompt);
          const session = sessionOf(said);
          assert.ok(session !== undefined && answerOf(said).includes(other.answer), howItEnded(said));
          await before.stop();
          assert.deepEqual(subject.processes(), [], "processes outlive the plugin");
          const after = await subject.start("engine");
          try {
            const events = await answered(asked, after.tier, recalls.prompt, { session });
            assert.equal(events.at(-1)?.type, "done", howItEnded(events));
            assert.equal(sessionOf(events), session, "the session has another name");
            assert.ok(recalls.knew(events), `nothing is known of what was said before: ${howItEnded(events)}`);
          } finally {
            await after.stop();
          }
          assert.deepEqual(subject.processes(), [], "processes outlive the plugin");
        }
      }),
    );
  });
}

const withSettings = (agent: ContractAgent | undefined, settings: Readonly<Record<string, unknown>>): ContractAgent => ({
  ...agent,
  settings: { ...agent?.settings, ...settings },
});

const answered = ({ agent }: Pick<EngineSubject, "agent">, tier: Tier, prompt: string, more: Partial<ContractTurn> = {}): Promise<readonly TierEvent[]> =>
  inTime(ANSWER_MS, "the end of the run", runTurn({ tier, agent, prompt, ...more }));

/** Starts a run, aborts it when `meanwhile` is over, and holds it and its processes to their end. */
async function aborted(subject: EngineSubject, tier: Tier, prompt: string, meanwhile: () => Promise<unknown>): Promise<readonly TierEvent[]> {
  const abort = new AbortController();
  const run = runTurn({ tier, agent: subject.agent, prompt, signal: abort.signal });
  run.catch(() => undefined);
  await meanwhile();
  abort.abort(new Error("cancelled"));
  const events = await inTime(GONE_MS, "the end after the abort", run);
  assert.ok(!events.some(({ type }) => type === "done"), "an aborted run is not done");
  assert.ok(events.filter(isEnd).length <= 1, "more than one end");
  await inTime(
    GONE_MS,
    "the end of the engine's processes",
    until(() => subject.processes().length === 0),
  );
  return events;
}
