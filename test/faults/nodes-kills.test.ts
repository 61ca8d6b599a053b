import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkServer } from "../../plugins/stores/postgres/check.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { startTcpProxy } from "../kit/tcp-proxy.ts";
import { ask, type DaemonProcess, endDaemons, pause } from "./daemon.harness.ts";
import { createWitness } from "./witness.harness.ts";

/** Faults, or minutes of them, and the daemons that they strike. */
const FAULTS = Number(process.env.SVC_SOAK ?? 3);
const MINUTES = Number(process.env.SVC_SOAK_MINUTES ?? 0);
const NODES = Number(process.env.SVC_SOAK_NODES ?? 2);
/** Conversations on each of three ways in. */
const CHATS = Number(process.env.SVC_SOAK_CHATS ?? 2);
/** The longest pause of a person between two messages, in a soak of minutes. */
const PAUSE_MS = 60_000;
/** By then a daemon knows that it was declared dead. */
const SEEN_MS = 15_000;
/** What a break of the rules in the database is replaced with, so that the judge is seen to fail: `find=>replacement` in the text of the functions, several apart by `;;`. */
const BROKEN = process.env.SVC_SOAK_BREAK;

let server: TestServer;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres(100);
});
afterEach(endDaemons);
afterAll(() => server?.stop());

/** A daemon that is struck again and again: what is done to it, and whether it lives on. */
const WAYS = {
  kill: { ms: 0, over: true },
  "stop below the lease": { ms: 2_500, over: false },
  "stop beyond the lease": { ms: 10_000, over: true },
  "partition below the lease": { ms: 2_500, over: false },
  "partition beyond the lease": { ms: 12_000, over: true },
  cut: { ms: 0, over: false },
} as const;
type Way = keyof typeof WAYS;
const ORDER: readonly Way[] = [
  "kill",
  "stop below the lease",
  "cut",
  "kill",
  "stop beyond the lease",
  "partition below the lease",
  "kill",
  "partition beyond the lease",
];

describe.skipIf(NO_POSTGRES !== undefined)(`${NODES} daemons on one schema${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  const long = MINUTES > 0 ? `${MINUTES} minutes of` : String(FAULTS);
  it(`FAULT-01 FAULT-05 FAULT-06 ${long} kills, stops, partitions and cuts: nothing acknowledged is lost or done twice, chats keep their order, jobs fire once a minute`, {
    timeout: 180_000 + FAULTS * 20_000 + MINUTES * 600_000,
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-nodes-kills-"));
    const { url, schema } = server.schema();
    const fires = join(folder, "fires");
    const job = { schedule: "* * * * *", agent: "ledger", command: `date -u +%Y-%m-%dT%H:%M >> ${fires}` };
    const witness = await createWitness(folder, CHATS, { store: { url, schema }, crons: { minutely: job } });
    const proxies = await Promise.all(Array.from({ length: NODES }, () => startTcpProxy(() => server.port)));
    const done = new Map<string, number>();
    const up = new Map<string, DaemonProcess>();
    const began = Date.now();
    let struck = 0;
    const goesOn = () => (MINUTES > 0 ? Date.now() - began < MINUTES * 60_000 : struck < FAULTS);

    async function start(n: number): Promise<DaemonProcess> {
      const own = new URL(url);
      own.port = String(proxies[n]?.port);
      const daemon = await witness.startNode(`n${n}`, { store: { url: own.href, schema } });
      if (BROKEN !== undefined) await breakRules(schema, BROKEN);
      up.set(`n${n}`, daemon);
      void daemon.ended.then(() => up.delete(`n${n}`));
      return daemon;
    }

    async function strike(n: number, way: Way, daemon: DaemonProcess): Promise<void> {
      const { ms, over } = WAYS[way];
      if (way === "kill") await daemon.kill("SIGKILL");
      if (way === "cut") proxies[n]?.cut();
      if (way.startsWith("stop")) {
        process.kill(daemon.pid, "SIGSTOP");
        await pause(ms);
        process.kill(daemon.pid, "SIGCONT");
      }
      if (way.startsWith("partition")) {
        proxies[n]?.partition(true);
        await pause(ms);
        proxies[n]?.partition(false);
      }
      // Another one has taken its place: it says so and ends, for its supervisor to start it anew. Where all others were down just then, it lives on.
      const end = over ? await Promise.race([daemon.ended, pause(SEEN_MS)]) : undefined;
      if (over && (end !== undefined || way === "kill")) expect(end, daemon.said()).toBe(way === "kill" ? "SIGKILL" : 74);
      const what = over && end === undefined ? `${way}, with nobody to see it` : way;
      done.set(what, (done.get(what) ?? 0) + 1);
    }

    /** The faults of one daemon, one after the other; the first one is struck by short ones alone, so that there is always one that lives. */
    async function life(n: number): Promise<void> {
      let daemon = await start(n);
      for (let count = n; goesOn(); count += 1) {
        struck += 1;
        // A soak of minutes leaves them time to work.
        await pause(MINUTES > 0 ? 2_000 + Math.random() * 8_000 : 300 + Math.random() * 900);
        if (!up.has(`n${n}`)) daemon = await start(n);
        const way = ORDER[count % ORDER.length] as Way;
        await strike(n, n === 0 && WAYS[way].ms > 5_000 ? "kill" : way, daemon);
        if (FAULTS > 20 || MINUTES > 0) console.log(`fault ${struck}: ${way} of n${n}; ${JSON.stringify(witness.tally())}`);
      }
      if (!up.has(`n${n}`)) await start(n);
    }

    try {
      let over = false;
      const any = () => [...up.values()][Math.floor(Math.random() * up.size)];
      const lives = Promise.all(Array.from({ length: NODES }, (_, n) => life(n)));
      const sending = witness.sendToAny(any, () => over, MINUTES > 0 ? PAUSE_MS : 0);
      await lives.finally(() => {
        over = true;
      });
      await sending;
      const judge = up.get("n0") ?? (await start(0));
      expect(await witness.judge(judge)).toEqual([]);
      expect(await firesOf(judge, fires, began)).toEqual([]);
      await endDaemons();
      expect((await checkServer({ url, schema, poolSize: 2 }, false))?.problems).toEqual([]);
      const { acknowledged, delivered, doubled, doubts } = witness.tally();
      console.log(
        `${NODES} daemons, ${JSON.stringify(Object.fromEntries(done))}: ${acknowledged} acknowledged, ${delivered} delivered, ${doubled} twice where no key can be handed over, announced ${doubts} times`,
      );
      expect(acknowledged).toBeGreaterThan(struck);
    } finally {
      await endDaemons();
      for (const proxy of proxies) await proxy.close();
      await witness.close();
      await rm(folder, { recursive: true, maxRetries: 5 });
    }
  });
});

/** What is wrong with the minutes of the job: one that ran twice, or of which nothing was said: not that it ran, was missed, or was refused to a job at work. */
async function firesOf({ port }: DaemonProcess, file: string, from: number): Promise<string[]> {
  const { runs } = (await ask<{ runs: { minute?: string; refused?: number }[] }>(port, "/crons/minutely/runs?limit=200")).body;
  const { crons } = (await ask<{ crons: { id: string; missed: { first: string; last: string }[] }[] }>(port, "/crons")).body;
  const missed = crons.find(({ id }) => id === "minutely")?.missed ?? [];
  const told = runs.map(({ minute = "" }) => minute.slice(0, 16));
  const done = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  const twice = [told, done].flatMap((list) => list.filter((minute, at) => list.indexOf(minute) !== at));
  const unknown: string[] = [];
  for (let at = Math.ceil(from / 60_000) + 1; at < Math.floor(Date.now() / 60_000); at += 1) {
    const minute = new Date(at * 60_000).toISOString();
    if (!told.includes(minute.slice(0, 16)) && !missed.some(({ first, last }) => first <= minute && minute <= last)) unknown.push(minute);
  }
  const refused = runs.reduce((sum, run) => sum + (run.refused ?? 0), 0);
  return [
    ...twice.map((minute) => `the job ran more than once at ${minute}`),
    ...(unknown.length > refused ? [`nothing is known of the job at ${unknown.join(", ")}; ${refused} starts were refused`] : []),
  ];
}

async function breakRules(schema: string, rules: string): Promise<void> {
  const [{ FUNCTIONS }, { LANE_FUNCTIONS }] = await Promise.all([
    import("../../plugins/stores/postgres/functions.ts"),
    import("../../plugins/stores/postgres/lane-functions.ts"),
  ]);
  let text = `${FUNCTIONS}\n${LANE_FUNCTIONS}`;
  for (const rule of rules.split(";;")) {
    const [find = "", replacement = ""] = rule.split("=>");
    if (!text.includes(find)) throw new Error(`nothing to break: ${find}`);
    text = text.replaceAll(find, replacement);
  }
  server.sql(text.replaceAll("{s}", schema));
}
