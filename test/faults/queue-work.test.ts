import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ask, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

const KILLS = Number(process.env.SVC_SOAK ?? 5);
const GROUPS = 12;
/** More than are done before the last kill. */
const ITEMS = KILLS * 24;

/**
 * Pushes its items once, works on them four at a time, and stores each result in the commit that completes the item. Each run is noted in
 * a file, with its lease longer than the test: only a start makes an item of a killed daemon due again.
 */
const PLUGIN = `
import { appendFileSync } from "node:fs";
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  kind: "feature", name: "worked", version: "1.0.0", svc: "^0.1.0", capabilities: ["store", "routes"],
  setup(ctx) {
    const queue = ctx.store.queue("work");
    const done = ctx.store.journal("done");
    ctx.provide.route({ method: "GET", path: "/worked", guard: "open", async handle() {
      return { left: await queue.size(), done: (await done.read(0, ${ITEMS})).map(({ value }) => value) };
    } });
    return {
      async start() {
        for (let n = 0; n < ${ITEMS}; n += 1) await queue.push({ n }, { id: "i" + n, group: "g" + (n % ${GROUPS}), dedupKey: "i" + n });
        queue.work(async ({ id, attempt, redelivered, value }) => {
          appendFileSync(process.env.SVC_TEST_NOTES, JSON.stringify({ id, attempt, redelivered }) + "\\n");
          await later(value.n % 5 === 0 ? 200 : 20);
          if (value.n % 7 === 0 && attempt === 1) throw new Error("not at the first time");
          await ctx.store.commit([{ op: "append", journal: "done", value: id }, { op: "complete", queue: "work", id, attempt }]);
        }, { parallel: 4, leaseMs: 3_600_000, retryMs: 20 });
      },
    };
  },
};
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-work-"));
  writeFileSync(join(folder, "worked.ts"), PLUGIN);
  writeConfig(folder, { plugins: ["./worked.ts"] });
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

it(`FAULT-01 ${KILLS} kills of a daemon that works on a queue: each item is done once, in the order of its group`, {
  timeout: 180_000 + KILLS * 6_000,
}, async () => {
  const notes = join(folder, "notes");
  writeFileSync(notes, "");
  const env = { SVC_TEST_NOTES: notes };
  const lines = () => readFileSync(notes, "utf8").split("\n").filter(Boolean);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const daemon = await startDaemon(folder, { env });
    const before = lines().length;
    // In the middle of the work, or before the first run; at another moment of it each time.
    if (kill % 5 !== 0) await vi.waitFor(() => expect(lines().length).toBeGreaterThan(before), { timeout: 20_000, interval: 5 });
    await pause((kill % 10) * 12);
    await daemon.kill("SIGKILL");
  }
  const daemon = await startDaemon(folder, { env });
  const state = async () => (await ask<{ left: number; done: string[] }>(daemon.port, "/worked")).body;
  await vi.waitFor(async () => expect((await state()).left).toBe(0), { timeout: 120_000, interval: 100 });
  const { done } = await state();
  expect(done.toSorted()).toEqual(Array.from({ length: ITEMS }, (_, n) => `i${n}`).toSorted());
  for (let group = 0; group < GROUPS; group += 1) {
    const own = done.map((id) => Number(id.slice(1))).filter((n) => n % GROUPS === group);
    expect(own).toEqual(own.toSorted((left, right) => left - right));
  }
  const runs = lines().map((line) => JSON.parse(line) as { id: string; attempt: number; redelivered: boolean });
  // Attempts are counted over the kills, and a run that a kill ended shows as redelivered.
  expect(runs.some(({ redelivered }) => redelivered)).toBe(true);
  for (const id of done) {
    const attempts = runs.filter((run) => run.id === id).map(({ attempt }) => attempt);
    expect(attempts).toEqual(attempts.toSorted((left, right) => left - right));
    expect(new Set(attempts).size).toBe(attempts.length);
  }
  await daemon.kill("SIGTERM");
});
