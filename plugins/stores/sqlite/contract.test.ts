import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { openStore } from "./open.ts";

async function fixture(file: string, remove: () => Promise<void>) {
  let now = 1_800_000_000_000;
  let ran = 1_000_000;
  const kernel = openStore({ file, now: () => now, monotonic: () => ran });
  return {
    store: kernel.scope("core"),
    neighbour: kernel.scope("feature-other"),
    reclaim: () => kernel.reclaim("n1"),
    advance(ms: number) {
      now += ms;
      ran += ms;
    },
    turn(ms: number) {
      now += ms;
    },
    async close() {
      await kernel.close();
      await remove();
    },
  };
}

describe("the store on disk", () => {
  const open = async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-store-"));
    return await fixture(join(folder, "svc.db"), () => rm(folder, { recursive: true }));
  };
  storeContract({ describe, it }, open);
});

describe("the store in memory", () => {
  storeContract({ describe, it }, () => fixture(":memory:", async () => undefined));
});

it("FAULT-19 what is due next is told by the time that passed, whatever the wall clock shows", async () => {
  const { store, turn, advance, close } = await fixture(":memory:", async () => undefined);
  const work = store.queue("work");
  await work.push(1, { delayMs: 5_000 });
  turn(86_400_000);
  advance(400);
  expect(await work.nextDue()).toBe(4_600);
  turn(-3 * 86_400_000);
  expect(await work.nextDue()).toBe(4_600);
  await close();
});
