import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, type Plugin, type TaskEvent, type TierEvent, type Turn } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { configOf, type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { hasten } from "../kit/time.ts";

const PATIENCE = { timeout: 20_000, interval: 5 };
const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), PATIENCE);

/** A turn that was taken over: the test says its events. */
interface Held {
  readonly turn: Turn;
  readonly signal: AbortSignal;
  say(...events: TierEvent[]): void;
  closed: boolean;
}

/** Takes each turn whose prompt begins with `wait`, and parks it at once; one that begins with `take` runs. */
function taker() {
  const held = new Map<string, Held>();
  let asked = 0;
  const plugin = definePlugin({
    kind: "feature",
    name: "taker",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup: (ctx) =>
      ctx.hooks.dispatch.tap((turn, { prompt }, { signal }) => {
        if (!/^(wait|take)/.test(prompt)) return undefined;
        asked += 1;
        const events: TierEvent[] = prompt.startsWith("wait") ? [{ type: "parked", reason: "a person" }] : [];
        let wake = () => {};
        const one: Held = {
          turn,
          signal,
          say(...more) {
            events.push(...more);
            wake();
          },
          closed: false,
        };
        signal.addEventListener("abort", () => wake());
        held.set(prompt, one);
        return (async function* () {
          try {
            while (!signal.aborted) {
              const next = events.shift();
              if (next !== undefined) yield next;
              else await new Promise<void>((resolve) => (wake = resolve));
            }
          } finally {
            one.closed = true;
          }
        })();
      }),
  }) as unknown as Plugin<never>;
  const of = (prompt: string) => vi.waitFor(() => held.get(prompt) ?? Promise.reject(new Error(`${prompt} was not taken`)), PATIENCE);
  return { plugin, of, asked: () => asked };
}

async function runParked({ agent, ...options }: RunOptions = {}) {
  const { plugin, of, asked } = taker();
  const running = await runKernel({ agent: { maxConcurrent: 1, ...agent }, inline: [plugin], ...options });
  const { kernel, message } = running;
  const stepOf = (taskId: string) => kernel.tasks.running().find(({ id }) => id === taskId)?.step;
  /** Sends a message and waits until its turn is parked. */
  async function park(text: string, listen?: (event: TaskEvent) => void) {
    const result = kernel.tasks.run(message(text, { chat: text }), listen);
    const one = await of(text);
    await vi.waitFor(() => expect(stepOf(one.turn.id)).toBe("waiting"), PATIENCE);
    return { ...one, one, result };
  }
  return { ...running, of, asked, park, stepOf };
}

describe("a turn that is parked", () => {
  it("ATT-04 gives its agent's slot away: five chats wait under maxConcurrent 1, others are answered, and so are the five", async () => {
    const { kernel, message, park } = await runParked();
    const parked = [];
    for (const chat of [1, 2, 3, 4, 5]) parked.push(await park(`wait ${chat}`));
    expect((await kernel.tasks.run(message("hello", { chat: "other" }))).reply).toBe("hello");
    expect(kernel.tasks.running().map(({ step }) => step)).toEqual(Array(5).fill("waiting"));
    for (const { say } of parked) say({ type: "done", text: "answered" });
    for (const { result } of parked) expect(await result).toMatchObject({ ok: true, reply: "answered" });
  });

  it("ends without a slot: `done` and `error` do not wait for the turn that has it", async () => {
    const { kernel, tier, message, park } = await runParked();
    const [done, failed] = [await park("wait 1"), await park("wait 2")];
    const busy = kernel.tasks.run(message("hold", { chat: "other" }));
    await until(() => tier.held === 1);
    done.say({ type: "done", text: "answered" });
    failed.say({ type: "error", kind: "expired", message: "nobody came" });
    expect(await done.result).toMatchObject({ ok: true, reply: "answered" });
    expect(await failed.result).toMatchObject({ ok: false, errorKind: "expired" });
    expect(tier.held).toBe(1);
    tier.release();
    expect((await busy).ok).toBe(true);
  });

  it("tells steps of its waiting without a slot; they are no work of an engine", async () => {
    const { kernel, tier, message, park, stepOf } = await runParked();
    const heard: string[] = [];
    const parked = await park("wait", ({ type }) => heard.push(type));
    const busy = kernel.tasks.run(message("hold", { chat: "other" }));
    await until(() => tier.held === 1);
    parked.say({ type: "step", step: { id: "s", name: "post m1", phase: "end", output: "claimed" } });
    await until(() => heard.includes("step"));
    expect([stepOf(parked.turn.id), tier.held]).toEqual(["waiting", 1]);
    parked.say({ type: "done", text: "answered" });
    const { taskId } = await parked.result;
    expect((await kernel.traces.get(taskId))?.steps).toContainEqual(expect.objectContaining({ name: "post m1", kind: "prepare", output: "claimed" }));
    tier.release();
    await busy;
  });

  it("goes on with a slot only, before what waits for one, and can be parked again", async () => {
    const { kernel, tier, message, park, stepOf } = await runParked();
    const heard: string[] = [];
    const parked = await park("wait", ({ type }) => heard.push(type));
    const [first, second] = ["hold 1", "hold 2"].map((text) => kernel.tasks.run(message(text, { chat: text })));
    await until(() => tier.held === 1);
    parked.say({ type: "text", text: "one " }, { type: "parked", reason: "once more" });
    await vi.waitFor(() => expect(kernel.tasks.queued()).toHaveLength(1), PATIENCE);
    expect([stepOf(parked.turn.id), heard.includes("text")]).toEqual(["waiting", false]);
    tier.release();
    await first;
    // Parked again, and so the second has the slot.
    await until(() => tier.prompts.includes("hold 2"));
    expect(heard.filter((type) => type === "parked" || type === "text")).toEqual(["parked", "text", "parked"]);
    parked.say({ type: "text", text: "two" }, { type: "done" });
    tier.release();
    await second;
    expect(await parked.result).toMatchObject({ ok: true, reply: "one two" });
  });

  it("keeps its conversation closed: the next message of the chat is the next turn", async () => {
    const { kernel, tier, message, park } = await runParked();
    const parked = await park("wait");
    const next = kernel.tasks.run(message("hello", { chat: "wait" }));
    await until(() => kernel.tasks.queued().length === 1);
    expect(tier.prompts).toEqual([]);
    parked.say({ type: "done", text: "answered" });
    expect((await parked.result).reply).toBe("answered");
    expect((await next).reply).toBe("hello");
  });

  it("RUN-04 does not run out of time while it is parked; the limit counts on when it goes on", async () => {
    const { kernel, message, of, stepOf } = await runParked();
    const result = hasten(async () => {
      const run = kernel.tasks.run(message("wait", { options: { timeoutMinutes: 1 } }));
      const parked = await of("wait");
      await vi.waitFor(() => expect(stepOf(parked.turn.id)).toBe("waiting"), PATIENCE);
      await new Promise((resolve) => setTimeout(resolve, 600_000));
      expect(stepOf(parked.turn.id)).toBe("waiting");
      parked.say({ type: "text", text: "on " });
      return run;
    });
    expect(await result).toMatchObject({ status: "timeout", errorKind: "timeout", error: "timed out after 60s" });
  });

  it("RUN-02 is cancelled like any other: its stream hears it by the tap's signal, parked or waiting for a slot", async () => {
    const { kernel, tier, message, park } = await runParked();
    const [one, other] = [await park("wait 1"), await park("wait 2")];
    const busy = kernel.tasks.run(message("hold", { chat: "other" }));
    await until(() => tier.held === 1);
    other.say({ type: "text", text: "would go on" });
    for (const { turn, result, one: stream } of [one, other]) {
      expect(await kernel.tasks.cancel(turn.id, "not needed")).toBe(true);
      expect(await result).toMatchObject({ ok: false, errorKind: "cancelled", error: "cancelled: not needed" });
      await until(() => stream.closed);
    }
    tier.release();
    expect((await busy).ok).toBe(true);
    expect((await kernel.tasks.run(message("hello", { chat: "wait 2" }))).reply).toBe("hello");
    expect(kernel.tasks.running()).toEqual([]);
  });

  it("API-08 a follow-up that replaces it runs when it has ended, though it waited for a slot again", async () => {
    const { kernel, tier, message, park } = await runParked();
    const parked = await park("wait");
    const busy = kernel.tasks.run(message("hold", { chat: "other" }));
    await until(() => tier.held === 1);
    parked.say({ type: "text", text: "would go on" });
    const accepted = await kernel.tasks.followup(parked.turn.id, { text: "instead", replace: true });
    expect(await parked.result).toMatchObject({ ok: false, error: "cancelled: replaced by a follow-up" });
    tier.release();
    await busy;
    await vi.waitFor(async () => expect(await kernel.traces.get(accepted?.taskId as string)).toMatchObject({ status: "ok", response: "instead" }), PATIENCE);
  });

  it("waits for a slot when a reload has lowered maxConcurrent meanwhile", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "svc.json");
    const { kernel, tier, message, park, stepOf } = await runParked({ agent: { maxConcurrent: 2 }, file });
    const parked = await park("wait");
    const [first, second] = ["hold 1", "hold 2"].map((text) => kernel.tasks.run(message(text, { chat: text })));
    await until(() => tier.held === 2);
    writeFileSync(file, JSON.stringify(configOf({ maxConcurrent: 1 })));
    await kernel.reload();
    parked.say({ type: "text", text: "on" });
    tier.release();
    await Promise.race([first, second]);
    // What was said last has been heard: with two slots the turn would have one by now.
    for (let looks = 0; looks < 20; looks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(stepOf(parked.turn.id)).toBe("waiting");
    }
    tier.release();
    await Promise.all([first, second]);
    await vi.waitFor(() => expect(stepOf(parked.turn.id)).toBe("agent"), PATIENCE);
    parked.say({ type: "done" });
    expect(await parked.result).toMatchObject({ ok: true, reply: "on" });
  });

  it("a stop does not wait for it; the next start takes it up as any work that was interrupted", async () => {
    const folder = await temporaryFolder();
    const options = { folder, dataFolder: join(folder, ".svc") };
    const before = await runParked(options);
    const { result, turn, one } = await before.park("wait");
    await before.kernel.stop({ drainSeconds: 3_600 });
    expect(await result).toMatchObject({ errorKind: "interrupted" });
    expect(one.closed).toBe(true);
    const after = await runParked(options);
    const again = await after.of("wait");
    expect(again.turn.id).toBe(turn.id);
    again.say({ type: "done", text: "answered" });
    await vi.waitFor(async () => expect(await after.kernel.traces.get(turn.id)).toMatchObject({ status: "ok", response: "answered", attempts: 2 }), PATIENCE);
  });

  it("FLT-7 ends a call that waits for it when it cannot go on before that call has ended", async () => {
    const { kernel, tier, message, park } = await runParked();
    const parked = await park("wait");
    const caller = kernel.tasks.run(message("hold", { chat: "caller" }));
    await until(() => tier.held === 1);
    const callerTask = kernel.tasks.running().find(({ chat }) => chat === "caller")?.id as string;
    const call = kernel.tasks.run(message("a question", { chat: "wait", options: { askedBy: "a", callerTask } }));
    await until(() => kernel.tasks.queued().length === 1);
    parked.say({ type: "text", text: "on" });
    expect(await call).toMatchObject({ ok: false, errorKind: "deadlock" });
    tier.release();
    await caller;
    parked.say({ type: "done" });
    expect(await parked.result).toMatchObject({ ok: true, reply: "on" });
  });

  it("its trace tells the reason and how long", async () => {
    const { kernel, park } = await runParked();
    const { say, result, turn } = await park("wait");
    say({ type: "done", text: "answered" });
    await result;
    const { steps = [] } = (await kernel.traces.get(turn.id)) ?? {};
    expect(steps).toEqual([{ name: "waiting", kind: "prepare", at: expect.any(Number), durationMs: expect.any(Number), output: "a person" }]);
  });
});

describe("a turn that is given back", () => {
  it("runs on the agent's tier with the context that was prepared, and its trace names the reason", async () => {
    const { kernel, tier, message, of, asked } = await runParked();
    const heard: string[] = [];
    const run = kernel.tasks.run(message("take it"), ({ type }) => heard.push(type));
    const one = await of("take it");
    one.say({ type: "session", id: "not the tier's" }, { type: "pass", reason: "nobody is there" });
    const result = await run;
    expect(result).toMatchObject({ ok: true, reply: "take it", sessionId: "native-1" });
    expect(tier.turns[0]?.turn).toBe(one.turn);
    await until(() => one.closed);
    expect((await kernel.traces.get(result.taskId))?.steps).toMatchObject([{ name: "pass", output: "nobody is there" }]);
    expect([asked(), heard.includes("pass")]).toEqual([1, false]);
  });

  it("takes a slot first when it was parked, and has its whole time limit again", async () => {
    const { kernel, tier, message, park } = await runParked();
    const parked = await park("wait");
    const busy = kernel.tasks.run(message("hold", { chat: "other" }));
    await until(() => tier.held === 1);
    parked.say({ type: "pass", reason: "nobody came" });
    await until(() => parked.one.closed || tier.prompts.length === 1);
    expect(tier.prompts).toEqual(["hold"]);
    tier.release();
    await busy;
    expect(await parked.result).toMatchObject({ ok: true, reply: "wait" });
  });

  it("is not offered again when its session turns out to be lost", async () => {
    const session = definePlugin({
      kind: "feature",
      name: "resumes",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) =>
        ctx.hooks.assembleContext.tap((context, turn) =>
          turn.afresh ? { ...context, prompt: "take anew" } : { ...context, session: "old", prompt: "take it" },
        ),
    }) as unknown as Plugin<never>;
    const { plugin, of, asked } = taker();
    const lost = definePlugin({
      kind: "tier",
      name: "scripted",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) =>
        ctx.provide.tier({
          name: "scripted",
          async *run(_, { session: id, prompt }) {
            if (id === undefined) yield { type: "done", text: prompt };
            else yield { type: "error", kind: "session", message: "no such session", sessionLost: true };
          },
        }),
    });
    const { kernel, message } = await runKernel({ inline: [session, plugin], tier: { plugin: lost } as never });
    const run = kernel.tasks.run(message("hello"));
    (await of("take it")).say({ type: "pass", reason: "nobody is there" });
    expect((await run).reply).toContain("take anew");
    expect(asked()).toBe(1);
  });

  it("only before its first text, and only by a stream of `dispatch`; else the run ends with an error that says so", async () => {
    const { kernel, message, of } = await runParked();
    const late = kernel.tasks.run(message("take it"));
    (await of("take it")).say({ type: "text", text: "half" }, { type: "pass", reason: "too late" });
    expect(await late).toMatchObject({ ok: false, errorKind: "SVC_TIER_HANDED", error: expect.stringContaining("feature-taker") });
    for (const type of ["pass", "parked"] as const) {
      const own = definePlugin({
        kind: "tier",
        name: "scripted",
        version: "1.0.0",
        svc: "*",
        capabilities: [],
        setup: (ctx) =>
          ctx.provide.tier({
            name: "scripted",
            async *run() {
              yield { type, reason: "not mine" };
              yield { type: "done", text: "never" };
            },
          }),
      });
      const other = await runKernel({ tier: { plugin: own } as never });
      expect(await other.kernel.tasks.run(other.message("hello"))).toMatchObject({
        ok: false,
        errorKind: "SVC_TIER_HANDED",
        error: expect.stringMatching(new RegExp(`tier-scripted.*'${type}'`)),
      });
    }
  });
});
