import type { StoreScope } from "@svc/sdk";
import { createMemoryStore, storeContract } from "@svc/sdk/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openStore } from "../../test/kit/store.ts";
import { stateStore } from "./state-store.ts";

/** A driver with nothing but what it must have. */
const bare = ({ collection, queue, journal, commit }: StoreScope): StoreScope => ({ collection, queue, journal, commit });

afterEach(() => void vi.useRealTimers());

describe("AUT-4 what the kernel makes of a driver that leaves everything out", () => {
  const open = async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const state = stateStore({ scope: () => bare(createMemoryStore()) });
    return {
      store: state.scope("core"),
      neighbour: state.scope("other"),
      advance: (ms: number) => void vi.setSystemTime(Date.now() + ms),
      turn: (ms: number) => void vi.setSystemTime(Date.now() + ms),
      close: () => state.close(),
    };
  };
  storeContract({ describe, it }, open, { lacks: ["reclaim"] });
});

describe("AUT-4 what the kernel makes of the database", () => {
  const open = async () => {
    let now = 1_800_000_000_000;
    let ran = 1_000_000;
    const state = stateStore(openStore({ file: ":memory:", now: () => now, monotonic: () => ran }));
    return {
      store: state.scope("core"),
      neighbour: state.scope("other"),
      reclaim: () => state.reclaim("n1"),
      advance(ms: number) {
        now += ms;
        ran += ms;
      },
      turn(ms: number) {
        now += ms;
      },
      close: () => state.close(),
    };
  };
  storeContract({ describe, it }, open);
});

describe("leases", () => {
  it("are held until the store closes", async () => {
    const state = stateStore(openStore({ file: ":memory:" }));
    const lease = await state.scope("feature-x").lease("leader", 1_000);
    expect([lease.held, lease.signal.aborted]).toEqual([true, false]);
    await state.close();
    expect(lease.signal.aborted).toBe(true);
  });

  it("are those of the driver where it has any, and are told when they are lost", async () => {
    const lost = new AbortController();
    const asked: unknown[] = [];
    let released = 0;
    const lease = async (name: string, ms: number) => {
      asked.push([name, ms]);
      const taken = asked.length > 1;
      return { held: !taken, signal: taken ? AbortSignal.abort(new Error("n2 has it")) : lost.signal, release: async () => void (released += 1) };
    };
    const state = stateStore({ scope: () => ({ ...bare(createMemoryStore()), lease }) });
    const store = state.scope("feature-x");
    const [first, second] = [await store.lease("leader", 7_000), await store.lease("leader", 7_000)];
    expect(asked).toEqual([
      ["leader", 7_000],
      ["leader", 7_000],
    ]);
    expect([first.held, second.held, second.signal.aborted, second.signal.reason.message]).toEqual([true, false, true, "n2 has it"]);
    lost.abort(new Error("no beat"));
    expect(first.signal.reason.message).toBe("no beat");
    expect(released).toBe(0);
    await first.release();
    expect(released).toBe(1);
    await state.close();
  });
});

it("many plugins hold a lease at once without a warning of Node", async () => {
  const warned = vi.fn();
  process.on("warning", warned);
  const state = stateStore({ scope: () => bare(createMemoryStore()) });
  try {
    for (let owner = 0; owner < 20; owner += 1) expect(await state.scope(`plugin-${owner}`).lease("leader", 1_000)).toMatchObject({ held: true });
    // Node tells a warning in the next turn of the loop.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warned).not.toHaveBeenCalled();
  } finally {
    process.off("warning", warned);
    await state.close();
  }
});
