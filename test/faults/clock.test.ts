import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { CLOCK_OF_SERVER } from "../kit/test-store.ts";
import { ask, type DaemonProcess, endDaemons, firstOf, startDaemon, writeConfig } from "./daemon.harness.ts";

const library = firstOf([
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/local/lib/faketime/libfaketime.so.1",
]);
if (library === undefined) console.warn("skipped, clock jumps: libfaketime is not installed");
if (CLOCK_OF_SERVER !== undefined) console.warn(`skipped, jobs and set clocks: ${CLOCK_OF_SERVER}`);

/** A cron job for each minute that notes the minute it was called for, and a timer that notes how long its second was. */
const PLUGIN = `
import { appendFileSync } from "node:fs";
const note = (line: object) => appendFileSync(process.env.SVC_TEST_NOTES as string, JSON.stringify(line) + "\\n");
export default {
  kind: "feature", name: "clock-watcher", version: "1.0.0", svc: "^0.1.0", capabilities: ["jobs"],
  setup(ctx: any) {
    ctx.jobs.cron("minutely", "* * * * *", "UTC", async (minute: Date) => note({ minute: minute.toISOString() }));
    const began = performance.now();
    if (process.env.SVC_TEST_AT) ctx.jobs.at(new Date(process.env.SVC_TEST_AT), () => note({ reached: new Date().toISOString() }));
    ctx.jobs.every(500, () => note({ beat: Math.round(performance.now() - began) }));
  },
};
`;

const folders: string[] = [];
/** A folder with the watcher and a configuration. */
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-clock-"));
  folders.push(folder);
  writeFileSync(join(folder, "watcher.ts"), PLUGIN);
  writeConfig(folder, { plugins: ["./watcher.ts"] });
  return folder;
}
afterAll(async () => {
  await endDaemons();
  for (const folder of folders) await rm(folder, { recursive: true, maxRetries: 5 });
});

/** Starts it `left` seconds before its minute ends: what ticks by the minute is then not waited for. */
async function startUnder(folder: string, left: number, given: Record<string, string> = {}) {
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
    ...given,
  };
  const daemon = await startDaemon(folder, { env });
  const lines = () =>
    readFileSync(notes, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { minute?: string; beat?: number; reached?: string });
  return {
    daemon,
    minutes: () => lines().flatMap(({ minute }) => (minute === undefined ? [] : [minute])),
    reached: () => lines().flatMap(({ reached }) => (reached === undefined ? [] : [reached])),
    beats: () => lines().flatMap(({ beat }) => (beat === undefined ? [] : [beat])),
    /** Turns the daemon's clock to so many seconds from where it began. Answers by how many it differs from ours. */
    turn(seconds: number): number {
      const shift = offset + seconds;
      writeFileSync(clock, `${shift >= 0 ? "+" : ""}${shift}\n`);
      return shift;
    },
  };
}

// Each has a daemon of its own and waits for its clock most of the time: they run beside one another.
const DAY = 86_400;
const inRange = (found: string[], from: number, to: number) => found.every((minute) => Date.parse(minute) >= from && Date.parse(minute) <= to);

it.skipIf(library === undefined || CLOCK_OF_SERVER !== undefined).concurrent(
  "FAULT-18 FAULT-19 the clock jumps a day ahead and two back: no storm, no minute twice, timers and tasks go on",
  { timeout: 240_000 },
  async () => {
    const folder = await newFolder();
    const { daemon, minutes, beats, turn } = await startUnder(folder, 12);
    const task = async () => expect((await ask<{ ok: boolean }>(daemon.port, "/task", { agent: "echo", message: "hello" })).body.ok).toBe(true);
    await task();
    const ahead = turn(DAY);
    await task();
    const late = () => Date.now() + ahead * 1000;
    // On a busy machine the minute that was about to begin when the daemon started has run as well, before the clock was turned.
    await vi.waitFor(() => expect(minutes().some((minute) => inRange([minute], late() - 120_000, late()))).toBe(true), { timeout: 90_000, interval: 250 });
    const after = minutes();
    expect(new Set(after).size).toBe(after.length);
    // Of the day that was skipped, nothing is made up for: at most the minutes around the jump ran.
    expect(after.length).toBeLessThanOrEqual(3);

    // No minute runs twice; one that begins while the test waits runs once.
    const noneAgain = () => {
      expect(minutes().slice(0, after.length)).toEqual(after);
      expect(new Set(minutes()).size).toBe(minutes().length);
      expect(minutes().length).toBeLessThanOrEqual(after.length + 1);
    };
    const back = turn(-DAY);
    await task();
    const before = beats().length;
    await vi.waitFor(() => expect(beats().length).toBeGreaterThan(before + 3), { timeout: 20_000, interval: 250 });
    noneAgain();
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
    noneAgain();
    await again.kill("SIGTERM");
  },
);

it.skipIf(library === undefined || CLOCK_OF_SERVER !== undefined).concurrent(
  "FAULT-21 a time of tomorrow: the machine sleeps past it, it comes once; after a restart it is asked for again",
  { timeout: 120_000 },
  async () => {
    const tomorrow = new Date(Date.now() + DAY * 1000 + 600_000).toISOString();
    const folder = await newFolder();
    const { daemon, reached, beats, turn } = await startUnder(folder, 30, { SVC_TEST_AT: tomorrow });
    await vi.waitFor(() => expect(beats().length).toBeGreaterThan(2), { timeout: 20_000, interval: 100 });
    expect(reached()).toEqual([]);
    // The wall clock goes on and nothing else does: what a machine that slept looks like.
    turn(2 * DAY);
    await vi.waitFor(() => expect(reached()).toHaveLength(1), { timeout: 60_000, interval: 100 });
    expect(Date.parse(reached()[0] as string)).toBeGreaterThan(Date.parse(tomorrow));
    turn(0);
    turn(2 * DAY);
    const seen = beats().length;
    await vi.waitFor(() => expect(beats().length).toBeGreaterThan(seen + 2), { timeout: 20_000, interval: 100 });
    expect(reached()).toHaveLength(1);
    await daemon.kill("SIGTERM");

    const again = await startDaemon(folder, { env: { SVC_TEST_AT: new Date(Date.now() - 1000).toISOString(), SVC_TEST_NOTES: join(folder, "notes") } });
    await vi.waitFor(() => expect(reached()).toHaveLength(2), { timeout: 20_000, interval: 100 });
    await again.kill("SIGTERM");
  },
);

it.skipIf(library === undefined).concurrent.each([
  ["back a day", -DAY],
  ["forward a day", DAY],
])("FLT-4 the clock set %s in the middle of a growing answer: it ends within its ordinary time", { timeout: 120_000 }, async (_way, shift) => {
  const folder = await newFolder();
  const api = await startBotApi();
  let started: DaemonProcess | undefined;
  try {
    api.addBot(TOKEN, 42, "helper_bot");
    const chats = [-2001, -2002, -2003];
    for (const chat of chats) api.addChat(chat, "group", `chat ${chat}`);
    writeConfig(folder, {
      plugins: ["./watcher.ts"],
      agents: { echo: { name: "Echo", workspace: "./w", tier: "local", maxConcurrent: 8, local: { mode: "echo", chunks: 12, delayMs: 500 } } },
      channels: {
        botmsg: {
          enabled: true,
          apiRoot: api.root,
          accounts: { main: { token: TOKEN, agentBinding: "echo" } },
          policy: { group: "all", allowFrom: chats.map(String) },
        },
      },
    });
    // The third chat is over its rate limit when the clock is set, and its whole answer waits in the outbox: that pause, too, stays what it was.
    let limited = 1;
    api.fault = ({ body }) =>
      Number(body.chat_id) === -2003 && limited-- > 0
        ? { code: 429, description: "Too Many Requests: retry after 10", parameters: { retry_after: 10 } }
        : undefined;
    const { daemon, turn } = await startUnder(folder, 50);
    started = daemon;
    const shown = (chat: number) =>
      api.shown
        .filter((message) => message.chat === chat)
        .map(({ text }) => text)
        .join("")
        .trim();
    const words = (chat: number) => `from ${chat} ${"word ".repeat(180)}end`;
    const grows = (chat: number) => vi.waitFor(() => expect(shown(chat).length).toBeGreaterThan(60), { timeout: 30_000, interval: 20 });
    const ends = (chat: number) => vi.waitFor(() => expect(shown(chat)).toBe(words(chat)), { timeout: 30_000, interval: 100 });
    for (const chat of [-2001, -2003]) api.say(TOKEN, { chat, text: words(chat) });
    await grows(-2001);
    if (shift < 0) turn(shift);
    await ends(-2001);
    if (shift > 0) turn(shift);
    api.say(TOKEN, { chat: -2002, text: words(-2002) });
    await ends(-2003);
    await ends(-2002);
    expect(daemon.said()).not.toContain("expired");
    const { body } = await ask<{ events: { data?: { state?: string } }[] }>(daemon.port, "/events/recent?limit=1000");
    expect(body.events.filter(({ data }) => data?.state === "delivery-expired")).toEqual([]);
    await daemon.kill("SIGTERM");
  } finally {
    await started?.kill();
    await api.close();
  }
});
