import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, endDaemons, handOver, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** Kills; more with SVC_SOAK. */
const KILLS = Number(process.env.SVC_SOAK ?? 3);
const EACH = 20;

afterEach(endDaemons);

interface Line {
  readonly agent: string;
  readonly period: string;
  readonly turns: number;
}

it("a kill loses no turn of a budget and counts none twice, though each is run again after a restart", async () => {
  const folder = await temporaryFolder();
  writeConfig(folder, { budgets: { all: { day: { turns: 1_000_000 } } } });
  let daemon = await startDaemon(folder);
  const accepted = new Set<string>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = accepted.size;
    const sent = Array.from({ length: EACH }, (_, at) =>
      handOver(daemon.port, { agent: "echo", message: "hello", context: { channel: "mail", chatId: `c${kill}-${at}` } }, `k${kill}-${at}`).then(
        ({ taskId }) => accepted.add(taskId),
        // It was not acknowledged: it may be there all the same.
        () => undefined,
      ),
    );
    // Something is there to be lost.
    await expect.poll(() => accepted.size, { timeout: 30_000, interval: 2 }).toBeGreaterThan(before);
    await pause((kill % 5) * 11);
    await daemon.kill("SIGKILL");
    await Promise.all(sent);
    daemon = await startDaemon(folder);
  }
  const open = async () => {
    const { tasks } = (await ask<{ tasks: { running: number; queued: number } }>(daemon.port, "/health")).body;
    return tasks.running + tasks.queued;
  };
  await expect.poll(open, { timeout: 60_000 }).toBe(0);
  const { traces } = (await ask<{ traces: readonly { id: string; status: string }[] }>(daemon.port, "/traces?limit=1000")).body;
  const ran = traces.filter(({ status }) => status === "ok");
  for (const id of accepted) expect(ran.map((trace) => trace.id)).toContain(id);
  const { budgets } = (await ask<{ budgets: readonly Line[] }>(daemon.port, "/budgets")).body;
  const counted = budgets.filter(({ period }) => period === "day").map(({ agent, turns }) => [agent, turns]);
  expect(new Map(counted as [string, number][])).toEqual(
    new Map([
      ["*", ran.length],
      ["echo", ran.length],
    ]),
  );
}, 120_000);
