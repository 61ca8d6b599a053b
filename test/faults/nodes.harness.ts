import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { startPostgres, type TestServer } from "../kit/postgres.ts";
import { ask, type DaemonProcess, endDaemons, handOver, startDaemon, writeConfig } from "./daemon.harness.ts";

export const PATIENCE = { timeout: 40_000, interval: 100 };

/** What an engine has noted. */
interface Noted {
  readonly node: string;
  readonly at: "begin" | "end" | "ended";
  readonly taskId: string;
  readonly chat: string;
  readonly text: string;
}
interface Trace {
  readonly status: string;
  readonly attempts: number;
  readonly response?: string;
  readonly steps: readonly { readonly name: string; readonly error?: string }[];
}

/** Daemons with a folder each on one schema, and an engine that notes what it does and holds while a file is there. */
export interface Nodes {
  readonly server: TestServer;
  readonly schema: string;
  /** The daemon of that name; started where it is not up. */
  node(id: string): Promise<DaemonProcess>;
  both(): Promise<[DaemonProcess, DaemonProcess]>;
  noted(): Noted[];
  begun(taskId: string): Noted[];
  hold(): void;
  goOn(): void;
  /** The daemon that has begun a task, and the name of the other one. */
  worker(taskId: string): Promise<{ readonly name: string; readonly daemon: DaemonProcess; readonly other: string }>;
  /** Answers with the id of the task. */
  send(to: DaemonProcess, message: string, chatId: string, agent?: "held" | "collects"): Promise<string>;
  trace(at: DaemonProcess, id: string): Promise<Trace>;
  finished(at: DaemonProcess, id: string): Promise<Trace>;
  close(): Promise<void>;
}

/** Daemons by name, each in a folder of its own with that configuration and a common ledger; one that is asked for is started where it does not run. */
export function nodesBelow(folder: string, config: { readonly agents: object; readonly [section: string]: unknown }): (id: string) => Promise<DaemonProcess> {
  const up = new Map<string, DaemonProcess>();
  return async (id) => {
    const running = up.get(id);
    if (running !== undefined) return running;
    const own = join(folder, id);
    mkdirSync(own, { recursive: true });
    writeConfig(own, { node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: Object.keys(config.agents)[0] }, ...config });
    const daemon = await startDaemon(own, { env: { SVC_TEST_LEDGER: join(folder, "ledger") } });
    up.set(id, daemon);
    void daemon.ended.then(() => up.delete(id));
    return daemon;
  };
}

/** Starts the server; the daemons when they are asked for. */
export async function startNodes(): Promise<Nodes> {
  const server = await startPostgres();
  const store = server.schema();
  const folder = await mkdtemp(join(tmpdir(), "svc-nodes-"));
  let sent = 0;
  const held = { name: "Held", workspace: "./w", tier: "held", maxConcurrent: 2, queueMode: "followup" };
  const node = nodesBelow(folder, {
    agents: { held, collects: { ...held, queueMode: "collect" } },
    plugins: [join(import.meta.dirname, "held.mjs")],
    shutdown: { drainTimeoutSeconds: 1 },
    store,
  });

  const noted = (): Noted[] => {
    try {
      return readFileSync(join(folder, "ledger"), "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Noted);
    } catch {
      return [];
    }
  };
  const begun = (taskId: string) => noted().filter((line) => line.at === "begin" && line.taskId === taskId);
  const trace = async (at: DaemonProcess, id: string) => (await ask<Trace>(at.port, `/traces/${id}`)).body;

  return {
    server,
    schema: store.schema,
    node,
    both: async () => [await node("n1"), await node("n2")],
    noted,
    begun,
    hold: () => writeFileSync(join(folder, "hold"), ""),
    goOn: () => rmSync(join(folder, "hold"), { force: true }),
    async worker(taskId) {
      const { node: name } = await vi.waitFor(() => begun(taskId)[0] ?? Promise.reject(new Error("nobody has begun it")), PATIENCE);
      return { name, daemon: await node(name), other: name === "n1" ? "n2" : "n1" };
    },
    async send(to, message, chatId, agent = "held") {
      sent += 1;
      const { taskId } = await handOver(to.port, { agent, message, context: { channel: "http", chatId } }, `key-${sent}`);
      return taskId;
    },
    trace,
    finished: (at, id) =>
      vi.waitFor(async () => {
        const found = await trace(at, id);
        expect(found.status).toBe("ok");
        return found;
      }, PATIENCE),
    async close() {
      await endDaemons();
      await server.stop();
      await rm(folder, { recursive: true, maxRetries: 5 });
    },
  };
}
