import { createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { openStore } from "../../test/kit/store.ts";
import { type ScopedStore, stateStore } from "./state-store.ts";

const STORES: Readonly<Record<string, () => ScopedStore>> = {
  database: () => openStore({ file: ":memory:" }).scope("core"),
  "store of the embedding program": () => stateStore({ scope: () => createMemoryStore() }).scope("core"),
};

describe.each(Object.entries(STORES))("AUT-4 what the kernel asks of the %s", (_name, open) => {
  async function filled(): Promise<ScopedStore> {
    const store = open();
    const docs = store.collection<object>("traces", { indexes: ["agent", "status", "inbound.channel"] });
    for (let n = 0; n < 1_200; n += 1)
      await docs.put(`k${String(n).padStart(5, "0")}`, {
        agent: n % 3 === 0 ? "a" : "b",
        status: n === 2 ? "open" : "done",
        inbound: { channel: `c${n % 7}` },
      });
    return store;
  }

  it("AUT-4 scans by fields and paths, from the last to the first", async () => {
    const store = await filled();
    const found: string[] = [];
    for (let below: string | undefined; ; ) {
      const page = await store.scan("traces", { where: { agent: "a", "inbound.channel": "c0" }, limit: 10, ...(below === undefined ? {} : { below }) });
      found.push(...page.docs.map(({ key }) => key));
      if (page.below === undefined) break;
      below = page.below;
    }
    expect(found).toEqual(Array.from({ length: 58 }, (_, at) => `k${String((57 - at) * 21).padStart(5, "0")}`));
  });

  it("AUT-4 prunes the first ones but those that are spared", async () => {
    const store = await filled();
    const gone: number[] = [];
    for (let count = -1; count !== 0; gone.push(count))
      count = await store.prune("traces", { below: "k01000", spare: { field: "status", value: "open" }, rows: 400 });
    expect(gone).toEqual([400, 400, 199, 0]);
    expect((await store.collection("traces").list({ limit: 2 })).map(({ key }) => key)).toEqual(["k00002", "k01000"]);
  });

  it("AUT-4 names the key that has so many later ones", async () => {
    const store = await filled();
    expect(await store.keyBefore("traces", 1_000)).toBe("k00199");
    expect(await store.keyBefore("traces", 1_200)).toBeUndefined();
  });
});
