import { createMemoryStore } from "@svc/sdk/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Inbox } from "./inbox.ts";
import { ANSWER_MS, CLAIM_MS, type Item, type ItemState, isFinal } from "./item.ts";

/** What the table of states says, in the plainest way. */
interface Model {
  wall: number;
  span: number;
  readonly items: Map<string, Known>;
}

/** `until`: the end of its time, by each of the clocks. */
interface Known {
  state: ItemState;
  until: { readonly wall: number; readonly span: number };
  process: string;
}

const after = ({ wall, span }: Model, ms: number): Known["until"] => ({ wall: wall + ms, span: span + ms });
const isOver = ({ wall, span }: Model, { until }: Known): boolean => until.wall <= wall || until.span <= span;

interface Real {
  readonly inbox: Inbox;
  readonly clock: { now: number; span: number };
  /** Final states that were told, by item. */
  readonly told: Map<string, ItemState[]>;
}

type Command = fc.AsyncCommand<Model, Real>;
const PROCESSES = ["p", "q"] as const;

/** One of the items there are, by a number that fast-check can shrink. */
const pick = (model: Model, at: number): string | undefined => [...model.items.keys()][at % Math.max(1, model.items.size)];

async function settled(inbox: Inbox, id: string): Promise<ItemState | undefined> {
  return (await inbox.get(id))?.state;
}

const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({ check: () => true, run, toString: () => name });

const commands = [
  fc.constantFrom("act", "report").map((autonomy) =>
    command(`enqueue ${autonomy}`, async (model, { inbox, told }) => {
      const item = (await inbox.enqueue({ task: "t", agent: "a", from: "b", channel: "c", text: "x", autonomy: autonomy as Item["autonomy"] }, [])) as Item;
      told.set(item.id, []);
      inbox.listen(item.id, ({ state }) => told.get(item.id)?.push(state));
      // What may not act is never handed out: the model has it as one that no drain finds.
      model.items.set(item.id, { state: "queued", until: after(model, CLAIM_MS), process: autonomy === "act" ? "" : "never" });
    }),
  ),
  fc.record({ process: fc.constantFrom(...PROCESSES), max: fc.integer({ min: 1, max: 7 }) }).map(({ process, max }) =>
    command(`drain ${max} by ${process}`, async (model, { inbox }) => {
      const wanted = [...model.items]
        .filter(([, item]) => item.state === "queued" && item.process !== "never" && !isOver(model, item))
        .slice(0, Math.min(max, 5));
      const drained = await inbox.drain({ process, agent: "a", session: "s" }, max);
      expect(drained.map(({ id }) => id)).toEqual(wanted.map(([id]) => id));
      for (const [, item] of wanted) Object.assign(item, { state: "drained", process, until: after(model, ANSWER_MS) });
    }),
  ),
  fc.record({ at: fc.nat(30), process: fc.constantFrom(...PROCESSES), how: fc.constantFrom("answer", "refuse") }).map(({ at, process, how }) =>
    command(`${how} ${at} by ${process}`, async (model, { inbox }) => {
      const id = pick(model, at);
      if (id === undefined) return;
      const item = model.items.get(id) as Known;
      const may = item.state === "drained" && item.process === process && !isOver(model, item);
      const done = how === "answer" ? await inbox.answer(id, process, "yes") : await inbox.refuse(id, process, "no");
      expect(done !== undefined).toBe(may);
      if (may) item.state = how === "answer" ? "answered" : "refused";
    }),
  ),
  fc.nat(30).map((at) =>
    command(`expire ${at}`, async (model, { inbox }) => {
      const id = pick(model, at);
      const item = id === undefined ? undefined : model.items.get(id);
      if (id === undefined || item === undefined) return;
      const over = !isFinal(item) && isOver(model, item);
      expect((await inbox.expire(id)) !== undefined).toBe(over);
      if (over) item.state = "fallen";
    }),
  ),
  fc.record({ at: fc.nat(30), how: fc.constantFrom("fall", "cancel") }).map(({ at, how }) =>
    command(`${how} ${at}`, async (model, { inbox }) => {
      const id = pick(model, at);
      const item = id === undefined ? undefined : model.items.get(id);
      if (id === undefined || item === undefined) return;
      const open = !isFinal(item);
      expect((how === "fall" ? await inbox.fall(id, "detached") : await inbox.cancel(id)) !== undefined).toBe(open);
      if (open) item.state = how === "fall" ? "fallen" : "cancelled";
    }),
  ),
  fc.record({ ms: fc.constantFrom(1, 1_000, CLAIM_MS - 1, CLAIM_MS, ANSWER_MS), set: fc.constantFrom("both", "wall", "span") }).map(({ ms, set }) =>
    command(`${ms} ms pass by ${set}`, async (model, { clock }) => {
      if (set !== "span") model.wall = clock.now += ms;
      if (set !== "wall") model.span = clock.span += ms;
    }),
  ),
];

describe("the inbox", () => {
  it("ATT-01 ATT-02 does what the table of states says, whatever comes in whatever order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: "max" }), async (given) => {
        const clock = { now: 0, span: 0 };
        const real: Real = { inbox: new Inbox(createMemoryStore(), { now: () => clock.now, span: () => clock.span }), clock, told: new Map() };
        const model: Model = { wall: 0, span: 0, items: new Map() };
        await fc.asyncModelRun(() => ({ model, real }), given);
        for (const [id, { state }] of model.items) {
          expect([id, await settled(real.inbox, id)]).toEqual([id, state]);
          // Each step is told once, and a final one is the last.
          const heard = real.told.get(id) as ItemState[];
          expect(heard.filter((one) => isFinal({ state: one }))).toEqual(isFinal({ state }) ? [state] : []);
          expect(new Set(heard).size).toBe(heard.length);
        }
      }),
      { numRuns: 300 },
    );
  }, 120_000);

  it("ATT-01 of all triggers at once on one message one wins, a thousand times", async () => {
    const winners = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(["drain", "expire", "fall", "cancel", "answer"], { minLength: 2 }), fc.boolean(), async (triggers, due) => {
        const clock = { now: 0, span: 0 };
        const inbox = new Inbox(createMemoryStore(), { now: () => clock.now, span: () => clock.span });
        const { id } = (await inbox.enqueue({ task: "t", agent: "a", from: "b", channel: "c", text: "x", autonomy: "act" }, [])) as Item;
        const finals: ItemState[] = [];
        inbox.listen(id, (item) => {
          if (isFinal(item)) finals.push(item.state);
        });
        if (due) clock.span = CLAIM_MS;
        const run: Readonly<Record<string, () => Promise<unknown>>> = {
          drain: async () => (await inbox.drain({ process: "p", agent: "a", session: "s" }, 5)).map((item) => inbox.answer(item.id, "p", "yes")),
          expire: () => inbox.expire(id),
          fall: () => inbox.fall(id, "detached"),
          cancel: () => inbox.cancel(id),
          answer: () => inbox.answer(id, "p", "early"),
        };
        await Promise.all(triggers.map((name) => run[name]?.()));
        await inbox.fall(id, "unanswered");
        const state = await settled(inbox, id);
        expect(finals).toEqual([state]);
        winners.set(String(state), (winners.get(String(state)) ?? 0) + 1);
      }),
      { numRuns: 1_000 },
    );
    expect(winners.size).toBe(3);
  }, 120_000);

  it("ends a time by the clock that nobody sets, also where the other one is set back by a day", async () => {
    const clock = { now: 10 * 86_400_000, span: 0 };
    const inbox = new Inbox(createMemoryStore(), { now: () => clock.now, span: () => clock.span });
    const { id } = (await inbox.enqueue({ task: "t", agent: "a", from: "b", channel: "c", text: "x", autonomy: "act" }, [])) as Item;
    clock.now -= 86_400_000;
    clock.span += CLAIM_MS - 1;
    expect(await inbox.expire(id)).toBeUndefined();
    clock.span += 1;
    expect(await inbox.drain({ process: "p", agent: "a", session: "s" }, 5)).toEqual([]);
    expect(await inbox.expire(id)).toMatchObject({ state: "fallen", fallenBy: "deadline" });
  });

  it("forgets what ended a day ago", async () => {
    const clock = { now: 0, span: 0 };
    const inbox = new Inbox(createMemoryStore(), { now: () => clock.now, span: () => clock.span });
    const [old, open] = [
      await inbox.enqueue({ task: "t", agent: "a", from: "b", channel: "c", text: "x", autonomy: "act" }, []),
      await inbox.enqueue({ task: "u", agent: "a", from: "b", channel: "c", text: "x", autonomy: "act" }, []),
    ] as [Item, Item];
    await inbox.cancel(old.id);
    await inbox.sweep();
    expect(await inbox.get(old.id)).toBeDefined();
    clock.now = 24 * 3_600_000 + 1;
    await inbox.sweep();
    expect([await inbox.get(old.id), (await inbox.get(open.id))?.id]).toEqual([undefined, open.id]);
  });
});
