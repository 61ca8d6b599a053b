import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import type { JobView } from "../../plugins/features/crons/overview.ts";
import type { Run } from "../../plugins/features/crons/runs.ts";
import { CLOCK_OF_SERVER } from "../kit/test-store.ts";
import { ask, type DaemonProcess, endDaemons, firstOf, startDaemon, writeConfig } from "./daemon.harness.ts";

const library = firstOf([
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/local/lib/faketime/libfaketime.so.1",
]);
if (library === undefined) console.warn("skipped, jobs and set clocks: libfaketime is not installed");
if (CLOCK_OF_SERVER !== undefined) console.warn(`skipped, jobs and set clocks: ${CLOCK_OF_SERVER}`);

const folders: string[] = [];
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-cron-clock-"));
  folders.push(folder);
  return folder;
}
afterAll(async () => {
  await endDaemons();
  for (const folder of folders) await rm(folder, { recursive: true, maxRetries: 5 });
});

/** A daemon with these jobs whose clock shows `time` now. */
async function startAt(folder: string, time: string, jobs: Record<string, object> | undefined) {
  const clock = join(folder, "clock");
  const turn = (to: string) => writeFileSync(clock, `${((Date.parse(to) - Date.now()) / 1_000).toFixed(3).replace(/^(?!-)/, "+")}\n`);
  if (jobs !== undefined) writeConfig(folder, { crons: jobs });
  turn(time);
  const env = {
    LD_PRELOAD: library as string,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: "1",
    DONT_FAKE_MONOTONIC: "1",
    FAKETIME_DONT_RESET: "1",
    TZ: "America/New_York",
  };
  const daemon = await startDaemon(folder, { env });
  turn(time);
  return { daemon, turn };
}

const get = async <T>(daemon: DaemonProcess, path: string) => (await (await fetch(`http://127.0.0.1:${daemon.port}${path}`)).json()) as T;
const runsOf = async (daemon: DaemonProcess, id: string) => (await get<{ runs: readonly Run[] }>(daemon, `/crons/${id}/runs`)).runs;
const minutes = async (daemon: DaemonProcess, id: string) => (await runsOf(daemon, id)).map(({ minute = "" }) => minute.slice(0, 16)).toReversed();
/** Waits until the job has run for these minutes and no others. */
const ran = (daemon: DaemonProcess, id: string, expected: readonly string[]) =>
  vi.waitFor(async () => expect(await minutes(daemon, id)).toEqual(expected), { timeout: 90_000, interval: 250 });

// Each has a daemon of its own and waits for its clock most of the time: they run beside one another.
const job = (schedule: string, timezone?: string) => ({ schedule, agent: "echo", command: "true", ...(timezone === undefined ? {} : { timezone }) });
const JOBS = { berlin: job("30 2 * * *", "Europe/Berlin"), hourly: job("0,30 * * * *"), nine: job("0 9 * * *") };

it.skipIf(library === undefined || CLOCK_OF_SERVER !== undefined).concurrent(
  "FAULT-20 the night in which clocks go forward: a job of the skipped hour runs once, at the first moment after",
  { timeout: 240_000 },
  async () => {
    const folder = await newFolder();
    const first = await startAt(folder, "2026-03-29T00:59:52Z", JOBS);
    await ran(first.daemon, "berlin", ["2026-03-29T01:00"]);
    // A start is quicker than the wait for a clock that was set.
    await first.daemon.kill("SIGTERM");
    const { daemon } = await startAt(folder, "2026-03-29T01:29:52Z", undefined);
    await ran(daemon, "hourly", ["2026-03-29T01:00", "2026-03-29T01:30"]);
    expect(await minutes(daemon, "berlin")).toEqual(["2026-03-29T01:00"]);
  },
);

it.skipIf(library === undefined || CLOCK_OF_SERVER !== undefined).concurrent(
  "FAULT-20 the night in which clocks go back: a job of the doubled hour runs once, in the first of the two",
  { timeout: 240_000 },
  async () => {
    const folder = await newFolder();
    const first = await startAt(folder, "2026-10-25T00:29:52Z", JOBS);
    await ran(first.daemon, "berlin", ["2026-10-25T00:30"]);
    // A start is quicker than the wait for a clock that was set.
    await first.daemon.kill("SIGTERM");
    const { daemon } = await startAt(folder, "2026-10-25T01:29:52Z", undefined);
    await ran(daemon, "hourly", ["2026-10-25T00:30", "2026-10-25T01:30"]);
    expect(await minutes(daemon, "berlin")).toEqual(["2026-10-25T00:30"]);
  },
);

it.skipIf(library === undefined || CLOCK_OF_SERVER !== undefined).concurrent(
  "CRON-05 0 9 * * * on a machine of another zone runs at 09:00 UTC",
  { timeout: 120_000 },
  async () => {
    const { daemon } = await startAt(await newFolder(), "2026-07-01T08:59:52Z", JOBS);
    await ran(daemon, "nine", ["2026-07-01T09:00"]);
  },
);

it.skipIf(library === undefined || CLOCK_OF_SERVER !== undefined).concurrent(
  "FAULT-18 FAULT-19 a day ahead and two back: one note of what was missed, no storm, no minute twice, a run that goes on keeps its job",
  { timeout: 300_000 },
  async () => {
    const folder = await newFolder();
    const jobs = { ...JOBS, long: { ...job("0 0 1 1 *"), command: "while [ ! -e stop ]; do sleep 0.2; done" } };
    const { daemon, turn } = await startAt(folder, "2026-06-10T11:59:50Z", jobs);
    expect((await ask(daemon.port, "/crons/long/run", {})).status).toBe(202);
    await ran(daemon, "hourly", ["2026-06-10T12:00"]);

    turn("2026-06-11T12:29:52Z");
    await ran(daemon, "hourly", ["2026-06-10T12:00", "2026-06-11T12:30"]);
    const missedBy = async (id: string) => (await get<{ crons: readonly JobView[] }>(daemon, "/crons")).crons.find((one) => one.id === id)?.missed;
    await vi.waitFor(
      async () => expect(await missedBy("hourly")).toMatchObject([{ first: "2026-06-10T12:30:00.000Z", last: "2026-06-11T12:00:00.000Z", count: 48 }]),
      { timeout: 20_000 },
    );
    expect(await missedBy("nine")).toMatchObject([{ first: "2026-06-11T09:00:00.000Z", count: 1 }]);
    expect(await runsOf(daemon, "nine")).toEqual([]);
    // Its lease is long over by this clock; its owner is at work.
    expect(await ask(daemon.port, "/crons/long/run", {})).toMatchObject({ status: 409, body: { code: "SVC_CRON_RUNNING" } });

    turn("2026-06-10T11:59:52Z");
    await vi.waitFor(
      async () =>
        expect(Date.parse((await get<{ crons: readonly JobView[] }>(daemon, "/crons")).crons[0]?.next[0] ?? "")).toBeLessThan(
          Date.parse("2026-06-11T12:00:00Z"),
        ),
      {
        timeout: 20_000,
      },
    );
    turn("2026-06-10T12:29:52Z");
    await ran(daemon, "hourly", ["2026-06-10T12:30", "2026-06-10T12:00", "2026-06-11T12:30"].toSorted());
    writeFileSync(join(folder, "stop"), "");
    await vi.waitFor(async () => expect(await runsOf(daemon, "long")).toMatchObject([{ status: "ok", refused: 1 }]), { timeout: 20_000 });
    expect(await missedBy("hourly")).toHaveLength(1);
  },
);
