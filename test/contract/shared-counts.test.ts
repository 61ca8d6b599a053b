import { join } from "node:path";
import type { Plugin, StoreDriver } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import sessions from "../../plugins/features/sessions/index.ts";
import subscriptions from "../../plugins/features/subscriptions/index.ts";
import { configOf, type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { openStore, type SqliteStore } from "../kit/store.ts";

const opened: SqliteStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

/** Two kernels on one state, as far as their plugins' rows go. */
async function twoNodes(options: (id: string) => RunOptions) {
  const store = openStore({ file: join(await temporaryFolder(), "state.db") });
  opened.push(store);
  const driver: StoreDriver = { scope: store.scope.bind(store), onFailure: store.onFailure.bind(store), steady: store.steady.bind(store) };
  const node = (id: string) => {
    const { config, ...others } = options(id);
    return runKernel({ store: driver, config: { node: { ...configOf().node, id, name: id }, ...config }, ...others });
  };
  return [await node("n1"), await node("n2")] as const;
}

const until = (condition: () => unknown) => vi.waitFor(() => expect(condition()).toBeTruthy(), { timeout: 10_000, interval: 10 });

describe("what several daemons on one state count together", () => {
  /** Agents `a` and `b`: what starts `b` has gone by `a`, too. */
  const woken = (a: object, b: object) => {
    const agent = (name: string, subscription: object) => ({
      name,
      workspace: "./w",
      tier: "scripted",
      subscriptions: [{ ...subscription, delivery: "wake" }],
    });
    return twoNodes(() => ({
      tier: scriptedTier(),
      inline: [subscriptions as Plugin<never>],
      config: { agents: { a: agent("A", a), b: agent("B", b) } },
    }));
  };
  const startsOf = ({ tier }: { tier: ReturnType<typeof scriptedTier> }) => tier.turns.map(({ turn }) => turn.agent.id);
  const announcement = (summary: string) => ({ kind: "announce", type: "announce", summary });

  it("EVT-16 maxPerHour: an agent that one daemon has started that often is not started by another", async () => {
    const [one, two] = await woken({ kinds: ["announce"], maxPerHour: 1 }, { kinds: ["announce"], maxPerHour: 6 });
    one.kernel.bus.publish(announcement("first"));
    await until(() => startsOf(one).length === 2);
    expect(startsOf(one).sort()).toEqual(["a", "b"]);
    two.kernel.bus.publish(announcement("second"));
    await until(() => startsOf(two).includes("b"));
    await until(() => two.kernel.tasks.running().length === 0);
    expect(startsOf(two)).toEqual(["b"]);
  });

  it("EVT-16 what a run started by an event causes on another daemon does not start its agent there", async () => {
    const [one, two] = await woken({ kinds: ["announce", "agent"] }, { match: "went on here" });
    const { id } = one.kernel.bus.publish(announcement("first"));
    await until(() => startsOf(one).includes("a"));
    two.kernel.bus.within({ rootId: id }, () => two.kernel.bus.publish({ kind: "agent", type: "note", summary: "its run went on here" }));
    await until(() => startsOf(two).includes("b"));
    await until(() => two.kernel.tasks.running().length === 0);
    expect(startsOf(two)).toEqual(["b"]);
  });

  it("SES-07 cold runs of all daemons count for the hour of each", async () => {
    const [one, two] = await twoNodes(() => ({
      tier: scriptedTier("cli-a", { nativeSessions: true, enforcesAutonomy: true }),
      inline: [sessions as Plugin<never>],
      agent: { tier: "cli-a" },
      config: { session: { maxClaudeCodeDispatchesPerHour: 4 } },
    }));
    let chat = 0;
    const run = async ({ kernel, message }: typeof one) => (await kernel.tasks.run(message("run", { chat: `c${++chat}` }))).errorKind;
    for (const node of [one, two, one, two]) expect(await run(node)).toBeUndefined();
    for (const node of [one, two]) expect(await run(node)).toBe("budget");
  });

  it("SES-07 cold runs that begin at once on one daemon are counted one by one", async () => {
    const [one] = await twoNodes(() => ({
      tier: scriptedTier("cli-a", { nativeSessions: true, enforcesAutonomy: true }),
      inline: [sessions as Plugin<never>],
      agent: { tier: "cli-a", maxConcurrent: 12 },
      config: { session: { maxClaudeCodeDispatchesPerHour: 4 } },
    }));
    const ran = await Promise.all(Array.from({ length: 12 }, (_, n) => one.kernel.tasks.run(one.message("run", { chat: `c${n}` }))));
    expect(ran.filter(({ ok }) => ok)).toHaveLength(4);
  });
});
