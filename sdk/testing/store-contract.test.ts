import { afterEach, describe, it, vi } from "vitest";
import { createMemoryStore } from "./memory-store.ts";
import { storeContract } from "./store-contract.ts";

describe("the store that plugin authors test with", () => {
  afterEach(() => void vi.useRealTimers());
  const open = async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    return {
      store: createMemoryStore(),
      neighbour: createMemoryStore(),
      advance: (ms: number) => void vi.setSystemTime(Date.now() + ms),
      turn: (ms: number) => void vi.setSystemTime(Date.now() + ms),
      close: async () => undefined,
    };
  };
  storeContract({ describe, it }, open, { lacks: ["note", "scan", "scanKeys", "prune", "keyBefore", "fill", "reclaim"] });
});
