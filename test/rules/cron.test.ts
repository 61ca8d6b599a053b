import type { Kernel } from "@svc/kernel";
import { definePlugin, type Envelope, type MissedMinutes } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { createTestKernel } from "../kit/test-kernel.ts";
import { CLOCK_OF_SERVER } from "../kit/test-store.ts";

/** A plugin with the given jobs that says what it missed. */
function watcher(jobs: Readonly<Record<string, string>>) {
  const ran: string[] = [];
  let missed: (id: string) => Promise<readonly MissedMinutes[]> = async () => [];
  const plugin = definePlugin({
    kind: "feature",
    name: "watcher",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["jobs"],
    setup(ctx) {
      missed = (id) => ctx.jobs.missed(id);
      for (const [id, expression] of Object.entries(jobs)) ctx.jobs.cron(id, expression, "UTC", async () => void ran.push(id));
    },
  });
  return { plugin, ran, missed: (id: string) => missed(id) };
}

if (CLOCK_OF_SERVER !== undefined) console.warn(`skipped, missed minutes by a given clock: ${CLOCK_OF_SERVER}`);
it.skipIf(CLOCK_OF_SERVER !== undefined)("FAULT-18 what a job missed while the daemon was down is recorded once and told, and none of it runs", async () => {
  const dataFolder = await temporaryFolder();
  const config = { node: { id: "n1", name: "Node 1" } };
  const told: Envelope[] = [];
  const run = async (
    at: string,
    jobs: Record<string, string>,
    look: (missed: (id: string) => Promise<readonly MissedMinutes[]>, kernel: Kernel) => Promise<void>,
  ) => {
    const { plugin, ran, missed } = watcher(jobs);
    const kernel = await createTestKernel({ config, dataFolder, plugins: [plugin], now: () => Date.parse(at) });
    kernel.bus.subscribe((envelope) => {
      if ((envelope.data as { state?: string } | undefined)?.state === "minutes-missed") told.push(envelope);
    });
    await kernel.start();
    await look(missed, kernel).finally(() => kernel.stop());
    expect(ran).toEqual([]);
  };

  await run("2026-01-01T12:00:30Z", { hourly: "0 * * * *", daily: "0 9 * * *", moved: "0 1 * * *" }, async (missed) =>
    expect(await missed("hourly")).toEqual([]),
  );
  const spans = {
    hourly: { first: "2026-01-01T13:00:00.000Z", last: "2026-01-02T08:00:00.000Z", count: 20, at: Date.parse("2026-01-02T08:30:00Z") },
  };
  await run("2026-01-02T08:30:00Z", { hourly: "0 * * * *", daily: "0 9 * * *", moved: "0 2 * * *", fresh: "0 * * * *" }, async (missed) => {
    await vi.waitFor(async () => expect(await missed("hourly")).toEqual([spans.hourly]));
    for (const id of ["daily", "moved", "fresh"]) expect(await missed(id)).toEqual([]);
  });
  expect(told).toMatchObject([{ kind: "status", data: { jobs: 1, missed: [{ job: "feature-watcher/hourly", ...spans.hourly }] } }]);
  // The same minutes are nobody's news any more.
  await run("2026-01-02T08:31:00Z", { hourly: "0 * * * *" }, async (missed) => expect(await missed("hourly")).toEqual([spans.hourly]));
  expect(told).toHaveLength(1);
});

it.skipIf(CLOCK_OF_SERVER !== undefined)(
  "FAULT-18 a minute that was claimed and whose run never ended is told by the next start, and does not run again",
  async () => {
    const dataFolder = await temporaryFolder();
    // Three seconds before a full minute that no clock of this machine shows; it goes on once the first daemon is up, however long that takes.
    const base = (Math.floor(Date.now() / 60_000) + 1_440) * 60_000 + 57_000;
    let began: number | undefined;
    const now = () => base + (began === undefined ? 0 : performance.now() - began);
    const minute = new Date(base + 3_000).toISOString();
    const runs: string[] = [];
    let missed: (id: string) => Promise<readonly MissedMinutes[]> = async () => [];
    const start = async (run: () => Promise<void>) => {
      const plugin = definePlugin({
        kind: "feature",
        name: "beginner",
        version: "1.0.0",
        svc: "^0.1.0",
        capabilities: ["jobs"],
        setup(ctx) {
          missed = (id) => ctx.jobs.missed(id);
          ctx.jobs.cron("once", "* * * * *", "UTC", (at) => {
            runs.push(at.toISOString());
            return run();
          });
        },
      });
      const kernel = await createTestKernel({ config: { node: { id: "n1", name: "Node 1" } }, dataFolder, plugins: [plugin], now });
      const told: Envelope[] = [];
      kernel.bus.subscribe((envelope) => {
        if ((envelope.data as { state?: string } | undefined)?.state === "minutes-missed") told.push(envelope);
      });
      await kernel.start();
      return { kernel, told };
    };

    const first = await start(() => new Promise(() => {}));
    began = performance.now();
    await vi.waitFor(() => expect(runs).toEqual([minute]), { timeout: 20_000 });
    await first.kernel.stop({ drainSeconds: 0 });
    const second = await start(async () => {});
    await vi.waitFor(async () => expect(await missed("once")).toMatchObject([{ first: minute, last: minute, count: 1, unsure: true }]), { timeout: 20_000 });
    await vi.waitFor(() =>
      expect(second.told).toMatchObject([{ summary: expect.stringContaining("not known"), data: { missed: [{ first: minute, unsure: true }] } }]),
    );
    await second.kernel.stop();
    expect(runs.filter((at) => at === minute)).toHaveLength(1);
    // Told once.
    const third = await start(async () => {});
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await third.kernel.stop();
    expect(third.told).toEqual([]);
  },
);
