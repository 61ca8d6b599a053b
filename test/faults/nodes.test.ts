import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { ask, type DaemonProcess, endDaemons, handOver, startDaemon, writeConfig } from "./daemon.harness.ts";

const PATIENCE = { timeout: 40_000, interval: 100 };

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

let server: TestServer;
let folder: string;
let store: { readonly url: string; readonly schema: string };
const nodes = new Map<string, DaemonProcess>();
beforeAll(async () => {
  if (NO_POSTGRES !== undefined) return;
  server = await startPostgres();
  store = server.schema();
  folder = await mkdtemp(join(tmpdir(), "svc-nodes-"));
});
afterAll(async () => {
  await endDaemons();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, maxRetries: 5 });
});

/** The daemon of that name with a folder of its own, on the schema of all tests; started where it is not up. */
async function node(id: string): Promise<DaemonProcess> {
  const up = nodes.get(id);
  if (up !== undefined) return up;
  const own = join(folder, id);
  mkdirSync(own, { recursive: true });
  const held = { name: "Held", workspace: "./w", tier: "held", maxConcurrent: 2, queueMode: "followup" };
  writeConfig(own, {
    node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "held" },
    agents: { held },
    plugins: [join(import.meta.dirname, "held.mjs")],
    shutdown: { drainTimeoutSeconds: 1 },
    store,
  });
  const daemon = await startDaemon(own, { env: { SVC_TEST_LEDGER: join(folder, "ledger") } });
  nodes.set(id, daemon);
  void daemon.ended.then(() => nodes.delete(id));
  return daemon;
}

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
const hold = (name = "hold") => writeFileSync(join(folder, name), "");
const goOn = (name = "hold") => rmSync(join(folder, name), { force: true });

const both = async (): Promise<[DaemonProcess, DaemonProcess]> => [await node("n1"), await node("n2")];
/** The daemon that has begun a task, and the name of the other one. */
async function worker(taskId: string): Promise<{ readonly name: string; readonly daemon: DaemonProcess; readonly other: string }> {
  const { node: name } = await vi.waitFor(() => begun(taskId)[0] ?? Promise.reject(new Error("nobody has begun it")), PATIENCE);
  return { name, daemon: await node(name), other: name === "n1" ? "n2" : "n1" };
}

let sent = 0;
async function send(to: DaemonProcess, message: string, chatId: string): Promise<string> {
  sent += 1;
  const { taskId } = await handOver(to.port, { agent: "held", message, context: { channel: "http", chatId } }, `key-${sent}`);
  return taskId;
}
const trace = async (at: DaemonProcess, id: string) => (await ask<Trace>(at.port, `/traces/${id}`)).body;
const finished = (at: DaemonProcess, id: string) =>
  vi.waitFor(async () => {
    const found = await trace(at, id);
    expect(found.status).toBe("ok");
    return found;
  }, PATIENCE);

describe.skipIf(NO_POSTGRES !== undefined)(`two daemons on one schema${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, { timeout: 90_000 }, () => {
  it("FAULT-01 FAULT-05 a node that is killed in a turn: the other one finishes the task, once, and its trace names both", async () => {
    const chat = `chat ${sent}`;
    await both();
    hold();
    const id = await send(await node("n1"), "hold on", chat);
    const waiting = await send(await node("n1"), "after it", chat);
    const { name, daemon, other } = await worker(id);
    await daemon.kill("SIGKILL");
    await vi.waitFor(() => expect(begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
    goOn();
    const done = await finished(await node(other), id);
    expect(done.response).toBe(`${other} did hold on`);
    expect(done.attempts).toBe(2);
    expect(done.steps).toContainEqual(
      expect.objectContaining({ name: "takeover", error: expect.stringContaining(`on node ${name} and resumed on node ${other}`) }),
    );
    expect((await finished(await node(other), waiting)).response).toBe(`${other} did after it`);
    const ended = noted().filter(({ at, taskId }) => at === "end" && [id, waiting].includes(taskId));
    expect(ended.map(({ text }) => text)).toEqual(["hold on", "after it"]);
  });

  it("a task is cancelled, followed up, listed and asked for its result at the other node", async () => {
    const chat = `chat ${sent}`;
    const [one, two] = await both();
    hold();
    const [id, next] = [await send(one, "hold 1", chat), await send(one, "hold 2", chat)];
    await vi.waitFor(() => expect(begun(id)).toHaveLength(1), PATIENCE);
    await vi.waitFor(async () => {
      const { running, queued } = (await ask<Record<"running" | "queued", { id: string }[]>>(two.port, "/api/tasks")).body;
      expect(running.map((task) => task.id)).toContain(id);
      expect(queued.map((task) => task.id)).toContain(next);
    }, PATIENCE);
    const { status, body } = await ask<{ taskId: string }>(two.port, `/api/tasks/${id}/followup`, { message: "more" });
    expect(status).toBe(200);
    expect((await ask(two.port, `/api/tasks/${next}/cancel`, {})).status).toBe(200);
    await vi.waitFor(async () => expect(await trace(one, next)).toMatchObject({ status: "error", errorKind: "cancelled" }), PATIENCE);
    expect((await ask(two.port, `/api/tasks/${id}/cancel`, {})).status).toBe(200);
    expect(await trace(two, id)).toMatchObject({ status: "error", errorKind: "cancelled" });
    await finished(two, body.taskId);
    expect((await ask(two.port, `/api/tasks/${id}/cancel`, {})).status).toBe(404);
    expect(begun(next)).toEqual([]);
  });

  it("FAULT-01 a conversation keeps its order, whichever node takes its messages, and an agent its turns side by side", async () => {
    const daemons = await both();
    const texts = Array.from({ length: 8 }, (_, n) => `message ${n}`);
    const chats = ["a", "b", "c", "d"].map((chat) => `${chat} ${sent}`);
    const ids: string[] = [];
    await Promise.all(
      chats.map(async (chat) => {
        for (const [n, text] of texts.entries()) ids.push(await send(daemons[(n + chats.indexOf(chat)) % 2] as DaemonProcess, text, chat));
      }),
    );
    for (const id of ids) await finished(daemons[0] as DaemonProcess, id);
    for (const chat of chats) {
      const lines = noted().filter((line) => line.chat === chat);
      expect(lines.map(({ at, text }) => `${at} ${text}`)).toEqual(texts.flatMap((text) => [`begin ${text}`, `end ${text}`]));
    }
    let running = 0;
    let most = 0;
    for (const { at } of noted().filter(({ chat }) => chats.includes(chat))) most = Math.max(most, (running += at === "begin" ? 1 : -1));
    expect(most).toBeLessThanOrEqual(2);
  });

  it("FAULT-06 a node that stands still beyond its lease: the other one takes over, and what it does on waking counts for nothing", async () => {
    const chat = `chat ${sent}`;
    await both();
    hold();
    const id = await send(await node("n1"), "hold still", chat);
    const { name, daemon, other } = await worker(id);
    process.kill(daemon.pid, "SIGSTOP");
    await vi.waitFor(() => expect(begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
    goOn();
    process.kill(daemon.pid, "SIGCONT");
    expect((await finished(await node(other), id)).response).toBe(`${other} did hold still`);
    expect(await daemon.ended, daemon.said()).toBe(74);
    expect(await trace(await node(other), id)).toMatchObject({ response: `${other} did hold still`, attempts: 2 });
  });

  it("a node that ends in order gives what is unfinished to the other one, whose callers get the result", async () => {
    const chat = `chat ${sent}`;
    await both();
    hold();
    const id = await send(await node("n1"), "hold on", chat);
    const { name, daemon, other } = await worker(id);
    const waiting = await send(await node(other), "after it", chat);
    const asked = ask<{ reply: string }>((await node(other)).port, "/task", { agent: "held", message: "last", context: { channel: "http", chatId: chat } });
    asked.catch(() => {});
    process.kill(daemon.pid, "SIGTERM");
    await vi.waitFor(() => expect(begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
    goOn();
    for (const task of [id, waiting]) await finished(await node(other), task);
    expect((await asked).body.reply).toBe(`${other} did last`);
    expect(await daemon.ended, daemon.said()).toBe(0);
  });
});
