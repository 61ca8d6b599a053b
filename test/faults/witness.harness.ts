import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ask, type DaemonOptions, type DaemonProcess, handOver, launch, pause, startDaemon, writeConfig } from "./daemon.harness.ts";
import { type Ended, judgeHistory, type Ran, type Sent, type Way } from "./history.ts";
import { openPlatform } from "./platform.harness.ts";

/** What a witness has seen so far. */
export interface Tally {
  readonly acknowledged: number;
  /** Answers that people see on a channel, each once. */
  readonly delivered: number;
  /** Answers that they see once more. */
  readonly doubled: number;
  /** How often a daemon said that what it sends may be there already. */
  readonly doubts: number;
}

/** Senders who remember what they sent and what was acknowledged, and see what arrives, over any number of daemons on one folder. */
export interface Witness {
  start(options?: DaemonOptions): Promise<DaemonProcess>;
  /** Starts one of several daemons, under that name, with a folder of its own and more of its configuration. */
  startNode(node: string, config: object): Promise<DaemonProcess>;
  /** Starts one that is killed after so many milliseconds, before it listens or just then: in the middle of what it does with unfinished work. */
  startAndKill(ms: number): Promise<void>;
  /** Each chat sends one message after the other, each as soon as the last one was acknowledged, until the daemon is gone or `stop` says so; `pauseMs` as below. */
  sendTo(daemon: DaemonProcess, stop?: () => boolean, pauseMs?: number): Promise<void>;
  /** The same to whichever daemon `any` names for each message, until `stop` says so; in each chat after a pause of up to `pauseMs`. */
  sendToAny(any: () => DaemonProcess | undefined, stop: () => boolean, pauseMs?: number): Promise<void>;
  /** Sends again what was not acknowledged, waits until all work is done, and answers what is wrong. Remembers how each task ended. */
  judge(daemon: DaemonProcess): Promise<string[]>;
  tally(): Tally;
  /** Begins a new chapter, when all is judged: what was sent, answered and counted so far is not looked at again, but for doubts. */
  forget(): void;
  close(): Promise<void>;
}

interface Trace {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly response?: string;
  readonly error?: string;
}

const WAYS: readonly Way[] = ["http", "keyed", "keyless"];
const AT_ONCE = 8;
/** So long nothing happens before what has not arrived counts as lost. */
const PATIENCE_MS = 15_000;

/** With so many chats on each way in and out; `config` is more of the daemon's svc.json. */
export async function createWitness(folder: string, chats: number, config: object = {}): Promise<Witness> {
  const ledger = join(folder, "ledger");
  const platform = await openPlatform();
  const started: { said(): string }[] = [];
  const sent: Sent[] = [];
  const open = new Map<string, Sent>();
  const earlier = new Map<string, Ended>();
  let written = 0;
  const agent = { name: "Ledger", workspace: "./w", tier: "ledger", maxConcurrent: 32, queueMode: "followup" };
  const configure = (place: string, more: object = {}) =>
    writeConfig(place, {
      agents: { ledger: agent },
      node: { id: "faults", name: "Faults", bind: "127.0.0.1:0" },
      plugins: [join(import.meta.dirname, "ledger.mjs")],
      ...config,
      ...more,
    });
  configure(folder);

  /** The message that is next in a chat: the one that is not acknowledged yet, or a new one. */
  function nextIn(way: Way, chat: string): Sent {
    const before = open.get(chat);
    if (before !== undefined && before.taskId === undefined) return before;
    const message: Sent = { key: `key-${written}`, way, chat, text: `message ${written}` };
    written += 1;
    sent.push(message);
    open.set(chat, message);
    return message;
  }

  /** Hands a message in, for the first time or once more. Rejects when it is not acknowledged. */
  async function handIn(port: number, { way, chat, text, key }: Sent): Promise<{ readonly taskId: string; readonly duplicate: boolean }> {
    if (way === "http") return handOver(port, { agent: "ledger", message: text, context: { channel: "http", chatId: chat } }, key);
    const { status, body } = await ask<{ taskId: string; duplicate: boolean }>(port, "/said", { channel: way, chat, text, key });
    if (status !== 200) throw new Error(`no acknowledgement: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  async function deliver(port: number, message: Sent): Promise<void> {
    message.taskId = (await handIn(port, message)).taskId;
  }

  function tally(): Tally {
    const distinct = new Set(platform.arrived.map(({ text }) => text)).size;
    return {
      acknowledged: sent.filter(({ taskId }) => taskId !== undefined).length,
      delivered: distinct,
      doubled: platform.arrived.length - distinct,
      doubts: started.reduce((sum, daemon) => sum + daemon.said().split("possible duplicate").length - 1, 0),
    };
  }

  /** Until no task is under way and each answer is where it belongs, or nothing happens any more. */
  async function settled(port: number): Promise<void> {
    const due = sent.filter(({ way }) => way !== "http").length;
    for (let seen = -1, since = performance.now(); performance.now() - since < PATIENCE_MS; ) {
      const { tasks } = (await ask<{ tasks: { running: number; queued: number } }>(port, "/health")).body;
      const { delivered } = tally();
      if (tasks.running + tasks.queued === 0 && delivered === due) return;
      if (delivered !== seen || tasks.running > 0) since = performance.now();
      seen = delivered;
      await pause(20);
    }
  }

  /** The trace of a task, waited for until it is no longer in flight: another daemon on the store may be at work on it. */
  async function endedOf(port: number, taskId: string) {
    for (const since = performance.now(); ; await pause(50)) {
      const found = await ask<Trace>(port, `/traces/${taskId}`);
      if (found.body.status !== "in-flight" || performance.now() - since > PATIENCE_MS) return found;
    }
  }

  async function sendToAny(any: () => DaemonProcess | undefined, stop: () => boolean, pauseMs = 0): Promise<void> {
    const sender = async (way: Way, chat: string) => {
      for (let failed = 0; !stop(); ) {
        for (let left = Math.random() * pauseMs; left > 0 && !stop(); left -= 500) await pause(Math.min(500, left));
        const daemon = any();
        try {
          if (daemon === undefined) await pause(20);
          else await deliver(daemon.port, nextIn(way, chat));
          failed = 0;
        } catch {
          // The daemon went away, or is going: the message is sent again to the next one, soon, and less often to one that refuses for long.
          failed += 1;
          await pause(Math.min(200, 5 * 2 ** failed));
        }
      }
    };
    await Promise.all(WAYS.flatMap((way) => Array.from({ length: chats }, (_, at) => sender(way, `${way}-${at}`))));
  }

  const places = { SVC_TEST_LEDGER: ledger, SVC_TEST_PLATFORM: platform.url };

  return {
    async start({ env = {}, ...options } = {}) {
      const daemon = await startDaemon(folder, { ...options, env: { ...env, ...places } });
      started.push(daemon);
      return daemon;
    },
    async startNode(node, more) {
      const place = join(folder, node);
      mkdirSync(place, { recursive: true });
      configure(place, { node: { id: node, name: node, bind: "127.0.0.1:0" }, ...more });
      const daemon = await startDaemon(place, { env: places });
      started.push(daemon);
      return daemon;
    },
    async startAndKill(ms) {
      const launched = launch(folder, { env: places });
      started.push(launched);
      await pause(ms);
      if (!launched.gone) process.kill(launched.pid, "SIGKILL");
      const end = await launched.ended;
      if (end !== "SIGKILL") throw new Error(`a daemon that starts ended with ${end} before it was killed: ${launched.said()}`);
    },
    tally,
    forget() {
      sent.length = 0;
      open.clear();
      earlier.clear();
      platform.forget();
      rmSync(ledger, { force: true });
    },
    close: () => platform.close(),
    async sendTo(daemon, stop = () => false, pauseMs = 0) {
      let gone = false;
      void daemon.ended.then(() => {
        gone = true;
      });
      await sendToAny(
        () => daemon,
        () => gone || stop(),
        pauseMs,
      );
    },
    sendToAny,
    async judge(daemon) {
      for (const message of sent.filter(({ taskId }) => taskId === undefined)) await deliver(daemon.port, message);
      await settled(daemon.port);
      const ended = new Map<string, Ended>();
      const wrong: string[] = [];
      const left = sent.values();
      const look = async () => {
        for (const message of left) {
          const { taskId = "", key } = message;
          const again = await handIn(daemon.port, message);
          if (!again.duplicate || again.taskId !== taskId) wrong.push(`${key}: sent again, it became ${again.taskId} beside ${taskId}`);
          const found = await endedOf(daemon.port, taskId);
          const { id, status, attempts, response, error } = found.body;
          if (found.status === 200)
            ended.set(id, { id, status, attempts, ...(response === undefined ? {} : { response }), ...(error === undefined ? {} : { error }) });
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, look));
      const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n").filter(Boolean) : [];
      const ran = lines.map((line) => JSON.parse(line) as Ran);
      wrong.push(...judgeHistory({ sent, ran, arrived: platform.arrived, doubts: tally().doubts, ended, earlier }));
      for (const [id, task] of ended) earlier.set(id, task);
      return wrong;
    },
  };
}
