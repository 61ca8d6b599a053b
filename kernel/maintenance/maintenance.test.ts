import { describe, expect, it } from "vitest";
import { openStore } from "../../test/kit/store.ts";
import { createLog } from "../base/log.ts";
import { stateStore } from "../base/state-store.ts";
import { createBegunMinutes } from "../schedule/begun-minutes.ts";
import { createForgetting, startMaintenance } from "./maintenance.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.parse("2026-01-01T12:00:00Z");

/** A store that is looked after for hours on end, with a clock that can be wrong. */
function setUp() {
  const store = stateStore(openStore({ file: ":memory:", log: createLog({ destination: "none", secrets: () => [] }) })).scope("core");
  let time = START;
  let wrong = 0;
  const now = () => time + wrong;
  const dedup = store.collection<{ at: number }>("dedup", { indexes: ["at"] });
  const minutes = createBegunMinutes({ node: "n1", store, now, isDead: async () => false });
  const daemon = () => createForgetting(store, now, () => time - START);
  return {
    daemon,
    claim: (minute: string) => minutes.claim("job", minute),
    accept: (key: string) => dedup.put(key, { at: now() }),
    known: async () => [...(await dedup.list()).map(({ key }) => key), ...(await store.collection("minutes").list()).map(({ key }) => key)].sort(),
    async run(look: () => Promise<void>, hours: number) {
      for (let hour = 0; hour < hours; hour += 1) {
        time += HOUR;
        await look();
      }
    },
    setWrong: (by: number) => {
      wrong = by;
    },
  };
}

describe("forgetting", () => {
  it("keeps dedup keys and claims of minutes for a week, and not much longer, also over restarts", async () => {
    const { daemon, claim, accept, known, run } = setUp();
    await accept("old");
    await claim("2026-01-01T12:00");
    await run(daemon(), 4 * 24);
    await accept("young");
    for (let day = 0; day < 3; day += 1) await run(daemon(), 24);
    expect(await known()).toEqual(["job 2026-01-01T12", "old", "young"]);
    for (let day = 0; day < 3; day += 1) await run(daemon(), 24);
    expect(await known()).toEqual(["young"]);
  });

  it.each([
    ["while it runs", false],
    ["from its start", true],
  ])("FAULT-18 a clock that is far ahead for most of a day, %s, makes it forget nothing", async (_, restarted) => {
    const { daemon, claim, accept, known, run, setWrong } = setUp();
    const first = daemon();
    await accept("message");
    await claim("2026-01-01T12:00");
    await run(first, 30);
    const before = await known();
    setWrong(400 * DAY);
    const look = restarted ? daemon() : first;
    await run(look, 20);
    setWrong(0);
    await run(look, 3 * 24);
    expect(await known()).toEqual(before);
    expect(await claim("2026-01-01T12:00")).toBe(false);
  });
});

it("retention.maxMegabytes holds for a daemon that never lives for a minute, too: the size is looked at soon after a start", async () => {
  const log = createLog({ destination: "none", secrets: () => [] });
  const core = stateStore(openStore({ file: ":memory:", log })).scope("core");
  const soon: (() => Promise<void>)[] = [];
  let pruned = 0;
  await startMaintenance({
    log,
    now: () => START,
    settings: { value: { retention: { maxMegabytes: 1 } } },
    bus: { publish: () => undefined, node: "n" },
    workspaces: { again: async () => undefined },
    runtime: {
      core: { ...core, keyBefore: async () => "task_9", prune: async () => (pruned++ === 0 ? 5 : 0) },
      store: { size: () => ({ used: 2_097_152, free: 0 }), shrink: () => false, steady: () => 0 },
      schedule: {
        every: () => undefined,
        after: (ms: number, work: () => Promise<void>) => {
          if (ms <= 10_000) soon.push(work);
        },
      },
    },
  } as never);
  for (const work of soon) await work();
  expect(pruned).toBeGreaterThan(0);
});
