import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { freePort } from "../kit/free-port.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { createDice } from "./channel-daemon.harness.ts";
import { type DaemonProcess, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";
import { openChats } from "./week/chats.ts";
import { createClock, NO_CLOCK } from "./week/clock.ts";
import { openEventReader } from "./week/event-reader.ts";
import { type Figures, growth, inWords, takeFigures } from "./week/figures.ts";
import { openOffice } from "./week/office.ts";
import { openPage } from "./week/page.ts";
import { BOMB, STRIKES, type Strike, strike, type Target } from "./week/strikes.ts";
import { createWitness } from "./witness.harness.ts";

/** Minutes that the week takes; 0 for some hours of it. Without them it is not run: what it finds is looked into by a person. */
const MINUTES = Number(process.env.SVC_WEEK ?? 0);
/** The same strikes, words and faults of the platforms at the same places; when a process gets its turn is the machine's. */
const SEED = Number(process.env.SVC_WEEK_SEED ?? (MINUTES > 0 ? Math.floor(Math.random() * 1e6) : 7));
/** SQL that is done to the database after each kill, so that the checker is seen to fail, such as `DELETE FROM "documents:core/dedup"`. */
const BROKEN = process.env.SVC_WEEK_BREAK;

/** The clock hops to the next sixth hour after each phase. */
const HOURS = 6;
const PHASES = MINUTES > 0 ? 28 : 2;
/** Those of `SVC_WEEK_STRIKES`, apart by commas; else a short run has what leaves nothing to be given up in words. */
const KINDS = kindsOf(process.env.SVC_WEEK_STRIKES);
const PHASE_MS = MINUTES > 0 ? (MINUTES * 60_000) / PHASES : 12_000;
/** Several times what is kept. */
const DISK = MINUTES > 0 ? "768m" : "96m";
/**
 * Nothing is a week old by the steady clock here, so that only the bound keeps the folder flat. An hour writes about twice as much; half of
 * it is no trace and stays, and above that must be room for the traces of the phase that is judged: the traces of the last four phases that were
 * written while the clock was a day ahead count as newer. On a busy machine the phases last longer, and write more.
 */
const KEPT_MEGABYTES = 140;
/** The longest pause of a sender: the week is about all kinds of work, not about much of one. */
const PAUSE_MS = MINUTES > 0 ? 2_000 : 0;
/** A Monday. */
const START = Date.parse("2026-03-02T05:59:48Z");
const PATIENCE_MS = 90_000;
const TOKEN = "the-token-that-both-daemons-hold";

if (NO_CLOCK !== undefined) console.warn(`skipped, a week with a clock that is set: ${NO_CLOCK}`);

function kindsOf(named: string | undefined): readonly Strike[] {
  if (named === undefined) return MINUTES > 0 ? STRIKES : ["kill", "stop", "cut", "kill the peer"];
  return named.split(",").map((name) => {
    const kind = STRIKES.find((known) => known === name);
    if (kind === undefined) throw new Error(`SVC_WEEK_STRIKES has '${name}'; there are ${STRIKES.join(", ")}`);
    return kind;
  });
}

let endWorld: (() => Promise<void>) | undefined;
afterEach(async () => {
  await endDaemons();
  await endWorld?.();
});

/** All that the daemon of the week talks with, and the daemon. */
async function createWorld(dice: () => number) {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, ".svc"));
  const disk = smallDisk(join(folder, ".svc"), DISK);
  const [nodePort, peerPort, forgePort, dashboardPort] = (await Promise.all([freePort(), freePort(), freePort(), freePort()])) as [
    number,
    number,
    number,
    number,
  ];
  const clock = createClock(join(folder, "clock"), START);
  const chats = await openChats(dice, forgePort);
  const office = openOffice(folder, { url: `http://127.0.0.1:${peerPort}`, token: TOKEN });
  writeFileSync(join(folder, "bomb.mjs"), BOMB);
  const agent = { workspace: "./w", tier: "local", maxConcurrent: 8, queueMode: "followup" };
  const witness = await createWitness(folder, 2, {
    node: { id: "main", name: "Main", bind: `127.0.0.1:${nodePort}`, defaultAgent: "echo" },
    agents: {
      ledger: { name: "Ledger", workspace: "./w", tier: "ledger", maxConcurrent: 32, queueMode: "followup" },
      echo: { ...agent, name: "Echo", local: { mode: "echo", delayMs: 10 } },
      "my-agent": { ...agent, name: "Mine", local: { mode: "echo", delayMs: 10 } },
    },
    plugins: [join(import.meta.dirname, "ledger.mjs"), "./bomb.mjs"],
    channels: chats.channels,
    dashboard: { enabled: true, port: dashboardPort },
    retention: { traceDays: 7, historyDays: 7, maxMegabytes: KEPT_MEGABYTES },
    ...office.config,
  });
  const peerFolder = await temporaryFolder();
  writeConfig(peerFolder, {
    node: { id: "peer", name: "peer", bind: `127.0.0.1:${peerPort}`, defaultAgent: "echo" },
    mesh: { enabled: true, peers: [{ name: "main", url: `http://127.0.0.1:${nodePort}`, token: TOKEN }] },
  });
  endWorld = async () => {
    endWorld = undefined;
    await witness.close();
    await chats.close();
    disk?.remove();
  };
  const start = () => witness.start({ env: { ...clock.env, ...office.env } });
  return { folder, peerFolder, clock, chats, office, witness, start, dashboardPort, disk: disk !== undefined };
}

function breakState(folder: string, sql: string): void {
  const Database = createRequire(import.meta.resolve("@svc/store-sqlite"))("better-sqlite3");
  const database = new Database(join(folder, ".svc/svc.db"));
  database.exec(sql);
  database.close();
}

it.skipIf(NO_CLOCK !== undefined || process.env.SVC_WEEK === undefined)(
  `FAULT-01 FAULT-02 FAULT-05 ${PHASES * HOURS} hours with all features on (seed ${SEED}): nothing is lost or doubled in silence, order holds, nothing grows`,
  { timeout: 300_000 + PHASES * (PHASE_MS + PATIENCE_MS), retry: 0 },
  async () => {
    const dice = createDice(SEED);
    const world = await createWorld(createDice(SEED + 1));
    const { folder, clock, chats, office, witness } = world;
    console.info(`seed ${SEED}; again: SVC_WEEK=${MINUTES} SVC_WEEK_SEED=${SEED} npx vitest run test/faults/week.test.ts`);
    let peer = await startDaemon(world.peerFolder);
    let current: DaemonProcess | undefined = await world.start();
    const began = clock.now();
    let lives = 1;
    const any = () => current;
    const daemon = () => current as DaemonProcess;
    const reader = openEventReader(any);
    const page = MINUTES > 0 ? await openPage(`http://127.0.0.1:${world.dashboardPort}/live`) : undefined;

    /** Kills it, and starts it until it stays up. Answers how many starts that took. */
    async function restartUntilUp(): Promise<number> {
      const before = daemon();
      current = undefined;
      await before.kill("SIGKILL");
      if (BROKEN !== undefined) breakState(folder, BROKEN);
      for (let starts = 1; ; starts += 1) {
        try {
          current = await world.start();
          lives += 1;
          return starts;
        } catch (error) {
          if (starts >= 5) throw error;
        }
      }
    }
    const target: Target = {
      folder,
      clock,
      dice,
      daemon,
      async restart() {
        const starts = await restartUntilUp();
        if (starts > 1) throw new Error(`the daemon needed ${starts} starts after a kill`);
      },
      async restartPeer() {
        await peer.kill("SIGKILL");
        peer = await startDaemon(world.peerFolder);
      },
      restartUntilUp,
      cut: () => reader.cut(),
    };

    const figures: Figures[] = [];
    const done = new Map<Strike, number>();
    const wrong: string[] = [];
    const totals = { acknowledged: 0, delivered: 0, doubled: 0, doubts: 0 };
    try {
      for (let phase = 0; phase < PHASES; phase += 1) {
        let over = false;
        const stop = () => over;
        const speaking = (async () => {
          for (; !over; await pause(40 + dice() * 160)) chats.say();
        })();
        const working = Promise.all([witness.sendToAny(any, stop, PAUSE_MS), office.work(any, stop), speaking]);
        working.catch(() => undefined);
        const end = performance.now() + PHASE_MS;
        // Each kind in its turn, so that a short run has them all; the long one begins each round elsewhere.
        for (let n = 0; performance.now() < end; n += 1) {
          await pause(500 + dice() * 1_500);
          const kind = KINDS[(phase * 2 + n) % KINDS.length] as Strike;
          if (kind === "nearly full disk" && !world.disk) continue;
          wrong.push(...(await strike(kind, target)));
          done.set(kind, (done.get(kind) ?? 0) + 1);
          if (MINUTES === 0 && n >= 1) break;
        }
        await pause(Math.max(0, end - performance.now()));
        over = true;
        await working;

        const missing = async () => [...chats.missing(daemon().port), ...(await office.missing(daemon().port, began, clock.now()))];
        let left = await missing();
        for (const since = performance.now(); left.length > 0 && performance.now() - since < PATIENCE_MS; left = await missing()) await pause(250);
        wrong.push(...left, ...(await witness.judge(daemon())), ...(await office.judge(daemon().port)), ...reader.wrong());
        const tally = witness.tally();
        totals.doubled += tally.doubled;
        totals.doubts = tally.doubts;
        // A doubt may be about a chat or about a channel of the witness: together they must be enough.
        wrong.push(...chats.judge(totals.doubts - totals.doubled));
        totals.acknowledged += tally.acknowledged;
        totals.delivered += tally.delivered;
        witness.forget();
        const taken = await takeFigures(daemon(), join(folder, ".svc"));
        figures.push(taken);
        console.info(`${new Date(clock.now()).toISOString().slice(0, 16)}: ${inWords(taken)}; ${totals.acknowledged} acknowledged, ${wrong.length} wrong`);
        expect(wrong, `phase ${phase}: ${daemon().said().slice(-4_000)}`).toEqual([]);
        clock.hop(HOURS, 8_000);
      }
      wrong.push(...growth(figures));
      if (reader.tally.gaps > lives) wrong.push(`${reader.tally.gaps} gaps in the events of ${lives} lives`);
      if (page !== undefined) wrong.push(...page.errors());
    } finally {
      console.info(
        JSON.stringify({
          seed: SEED,
          lives,
          strikes: Object.fromEntries(done),
          witness: totals,
          chats: chats.tally(),
          office: office.tally(),
          events: reader.tally,
          page: page?.tally(),
        }),
      );
      await page?.close();
      current = undefined;
      await reader.stop();
    }
    expect(wrong).toEqual([]);
    expect(totals.acknowledged).toBeGreaterThan(PHASES);
    expect(chats.tally().said).toBeGreaterThan(PHASES);
  },
);
