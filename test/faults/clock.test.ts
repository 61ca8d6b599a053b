import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ask, endDaemons, firstOf, startDaemon, writeConfig } from "./daemon.harness.ts";

const library = firstOf([
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/local/lib/faketime/libfaketime.so.1",
]);
if (library === undefined) console.warn("skipped, clock jumps: libfaketime is not installed");

/** A cron job for each minute that notes the minute it was called for, and a timer that notes how long its second was. */
const PLUGIN = `
import { appendFileSync } from "node:fs";
const note = (line: object) => appendFileSync(process.env.SVC_TEST_NOTES as string, JSON.stringify(line) + "\\n");
export default {
  kind: "feature", name: "clock-watcher", version: "1.0.0", svc: "^0.1.0", capabilities: ["jobs"],
  setup(ctx: any) {
    ctx.jobs.cron("minutely", "* * * * *", "UTC", async (minute: Date) => note({ minute: minute.toISOString() }));
    const began = performance.now();
    ctx.jobs.every(500, () => note({ beat: Math.round(performance.now() - began) }));
  },
};
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-clock-"));
  writeFileSync(join(folder, "watcher.ts"), PLUGIN);
  writeConfig(folder, { plugins: ["./watcher.ts"] });
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

/** Starts it `left` seconds before its minute ends: what ticks by the minute is then not waited for. */
async function startUnder(left: number) {
  const notes = join(folder, "notes");
  const clock = join(folder, "clock");
  writeFileSync(notes, "");
  const offset = (60_000 - (Date.now() % 60_000)) / 1000 - left;
  writeFileSync(clock, `+${offset}\n`);
  const env = {
    LD_PRELOAD: library as string,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: "1",
    DONT_FAKE_MONOTONIC: "1",
    FAKETIME_DONT_RESET: "1",
    SVC_TEST_NOTES: notes,
  };
  const daemon = await startDaemon(folder, { env });
  const lines = () =>
    readFileSync(notes, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { minute?: string; beat?: number });
  return {
    daemon,
    minutes: () => lines().flatMap(({ minute }) => (minute === undefined ? [] : [minute])),
    beats: () => lines().flatMap(({ beat }) => (beat === undefined ? [] : [beat])),
    /** Turns the daemon's clock to so many seconds from where it began. Answers by how many it differs from ours. */
    turn(seconds: number): number {
      const shift = offset + seconds;
      writeFileSync(clock, `${shift >= 0 ? "+" : ""}${shift}\n`);
      return shift;
    },
  };
}

const DAY = 86_400;
const inRange = (found: string[], from: number, to: number) => found.every((minute) => Date.parse(minute) >= from && Date.parse(minute) <= to);

it.skipIf(library === undefined)(
  "FAULT-18 FAULT-19 the clock jumps a day ahead and two back: no storm, no minute twice, timers and tasks go on",
  { timeout: 240_000 },
  async () => {
    const { daemon, minutes, beats, turn } = await startUnder(12);
    const task = async () => expect((await ask<{ ok: boolean }>(daemon.port, "/task", { agent: "echo", message: "hello" })).body.ok).toBe(true);
    await task();
    const ahead = turn(DAY);
    await task();
    const late = () => Date.now() + ahead * 1000;
    await vi.waitFor(() => expect(minutes().length).toBeGreaterThan(0), { timeout: 90_000, interval: 250 });
    const after = minutes();
    expect(new Set(after).size).toBe(after.length);
    // Of the day that was skipped, nothing is made up for: at most the minutes around the jump ran.
    expect(after.length).toBeLessThanOrEqual(3);
    expect(inRange(after.slice(-1), late() - 120_000, late())).toBe(true);

    const back = turn(-DAY);
    await task();
    const before = beats().length;
    await vi.waitFor(() => expect(beats().length).toBeGreaterThan(before + 3), { timeout: 20_000, interval: 250 });
    expect(minutes()).toEqual(after);
    const { body } = await ask<{ events: { id: string; at: string }[] }>(daemon.port, "/events/recent?limit=1000");
    // Events keep the order in which they happened; their ids tell it, whatever the clock says.
    const ids = body.events.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    const told = beats();
    for (const [at, beat] of told.entries()) if (at > 0) expect(beat).toBeGreaterThan(told[at - 1] as number);
    await daemon.kill("SIGTERM");

    // A new daemon on the clock that was set back fires none of the recorded minutes again.
    const again = await startDaemon(folder, {
      env: { LD_PRELOAD: library as string, FAKETIME: `${Math.round(back)}`, DONT_FAKE_MONOTONIC: "1", SVC_TEST_NOTES: join(folder, "notes") },
    });
    await vi.waitFor(() => expect(beats().length).toBeGreaterThan(told.length + 2), { timeout: 20_000, interval: 250 });
    expect(minutes()).toEqual(after);
    await again.kill("SIGTERM");
  },
);
