import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ask, type DaemonOptions, type DaemonProcess, handOver, pause, startDaemon, writeConfig } from "./daemon.harness.ts";
import { type Ended, judgeHistory, type Ran, type Sent } from "./history.ts";

/** Senders who remember what they sent and what was acknowledged, over any number of daemons on one folder. */
export interface Witness {
  start(options?: DaemonOptions): Promise<DaemonProcess>;
  /** Each chat sends one message after the other, each as soon as the last one was acknowledged, until the daemon is gone or `stop` says so. */
  sendTo(daemon: DaemonProcess, stop?: () => boolean): Promise<void>;
  /** Sends again what was not acknowledged, waits until all work is done, and answers what is wrong. Remembers how each task ended. */
  judge(daemon: DaemonProcess): Promise<string[]>;
  readonly acknowledged: number;
}

interface Trace {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly response?: string;
}

export function createWitness(folder: string, chats: number): Witness {
  const ledger = join(folder, "ledger");
  const sent: Sent[] = [];
  const earlier = new Map<string, Ended>();
  const agent = { name: "Ledger", workspace: "./w", tier: "ledger", maxConcurrent: 32, queueMode: "followup" };
  writeConfig(folder, {
    agents: { ledger: agent },
    node: { id: "faults", name: "Faults", bind: "127.0.0.1:0" },
    plugins: [join(import.meta.dirname, "ledger.mjs")],
  });

  const bodyOf = ({ chat, text }: Sent) => ({ agent: "ledger", message: text, context: { channel: "http", chatId: chat } });

  /** The message that is next in a chat: the one that is not acknowledged yet, or a new one. */
  function nextIn(chat: string): Sent {
    const open = sent.find((message) => message.chat === chat && message.taskId === undefined);
    if (open !== undefined) return open;
    const message: Sent = { key: `key-${sent.length}`, chat, text: `message ${sent.length}` };
    sent.push(message);
    return message;
  }

  async function deliver(port: number, message: Sent): Promise<void> {
    const { taskId } = await handOver(port, bodyOf(message), message.key);
    message.taskId = taskId;
  }

  return {
    start: ({ env = {}, ...options } = {}) => startDaemon(folder, { ...options, env: { ...env, SVC_TEST_LEDGER: ledger } }),
    get acknowledged() {
      return sent.filter(({ taskId }) => taskId !== undefined).length;
    },
    async sendTo(daemon, stop = () => false) {
      let gone = false;
      void daemon.ended.then(() => {
        gone = true;
      });
      const sender = async (chat: string) => {
        while (!gone && !stop()) {
          try {
            await deliver(daemon.port, nextIn(chat));
          } catch {
            // The daemon went away, or is going: the message is sent again to the next one.
            await pause(5);
          }
        }
      };
      await Promise.all(Array.from({ length: chats }, (_, at) => sender(`chat-${at}`)));
    },
    async judge(daemon) {
      for (const message of sent.filter(({ taskId }) => taskId === undefined)) await deliver(daemon.port, message);
      const idle = async () => {
        const { tasks } = (await ask<{ tasks: { running: number; queued: number } }>(daemon.port, "/health")).body;
        return tasks.running + tasks.queued === 0;
      };
      while (!(await idle())) await pause(20);
      const ended = new Map<string, Ended>();
      for (const { taskId = "", key } of sent) {
        const again = await handOver(daemon.port, bodyOf(sent.find((message) => message.key === key) as Sent), key);
        if (!again.duplicate || again.taskId !== taskId) return [`${key}: sent again, it became ${again.taskId} beside ${taskId}`];
        const found = await ask<Trace>(daemon.port, `/traces/${taskId}`);
        const { id, status, attempts, response } = found.body;
        if (found.status === 200) ended.set(id, { id, status, attempts, ...(response === undefined ? {} : { response }) });
      }
      const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n").filter(Boolean) : [];
      const wrong = judgeHistory(
        sent,
        lines.map((line) => JSON.parse(line) as Ran),
        ended,
        earlier,
      );
      for (const [id, task] of ended) earlier.set(id, task);
      return wrong;
    },
  };
}
