import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { drainNode } from "../../plugins/stores/postgres/status.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { ask, type DaemonProcess, endDaemons, handOver } from "./daemon.harness.ts";
import { nodesBelow } from "./nodes.harness.ts";

const PATIENCE = { timeout: 40_000, interval: 100 };

/** What a turn of the engine was given. */
interface Noted {
  readonly node: string;
  readonly at: "begin" | "lost";
  readonly taskId: string;
  readonly given?: string;
  readonly session?: string;
  readonly history: string;
}
interface Trace {
  readonly status: string;
  readonly response?: string;
  readonly steps: readonly { readonly name: string; readonly output?: string; readonly error?: string }[];
}

let server: TestServer;
let folder: string;
let store: { readonly url: string; readonly schema: string };
let sent = 0;
let conversations = 0;
/** The daemon of that name, on the schema that both share. */
let nodeOf: (id: string) => Promise<DaemonProcess>;
beforeAll(async () => {
  if (NO_POSTGRES !== undefined) return;
  server = await startPostgres();
  store = server.schema();
  folder = await mkdtemp(join(tmpdir(), "svc-sessions-"));
  nodeOf = nodesBelow(folder, {
    agents: Object.fromEntries(["native", "anywhere"].map((tier) => [tier, { name: tier, workspace: "./w", tier, maxConcurrent: 2, queueMode: "followup" }])),
    plugins: ["native.mjs", "anywhere.mjs"].map((file) => join(import.meta.dirname, file)),
    shutdown: { drainTimeoutSeconds: 1 },
    store,
  });
});
beforeEach(() => rmSync(join(folder, "hold"), { force: true }));
afterAll(async () => {
  await endDaemons();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, maxRetries: 5 });
});

const noted = (taskId: string): Noted[] => {
  const lines = readFileSync(join(folder, "ledger"), { encoding: "utf8", flag: "a+" }).split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Noted).filter((line) => line.taskId === taskId);
};
async function send(to: DaemonProcess, message: string, chatId: string, agent = "native"): Promise<string> {
  sent += 1;
  return (await handOver(to.port, { agent, message, context: { channel: "http", chatId } }, `key-${sent}`)).taskId;
}
const ended = (at: DaemonProcess, id: string) =>
  vi.waitFor(async () => {
    const found = (await ask<Trace>(at.port, `/traces/${id}`)).body;
    expect(found.status).toBe("ok");
    return found;
  }, PATIENCE);
const stepsOf = ({ steps }: Trace) => steps.filter(({ name }) => name === "session").map(({ output, error }) => output ?? error);

/** Says it at that node and answers with what the engine was given, once it has answered. */
async function say(to: DaemonProcess, text: string, chat: string, agent?: string) {
  const id = await send(to, text, chat, agent);
  const trace = await ended(to, id);
  expect(trace.response).toBe(`answer to ${text}`);
  return { trace, turns: noted(id) };
}

/** Begins a conversation: its name, on which node that is, and which is the other one. */
async function begin(kind: string, agent?: string) {
  const nodes = { n1: await nodeOf("n1"), n2: await nodeOf("n2") };
  conversations += 1;
  const chat = `${kind} ${conversations}`;
  const { turns } = await say(nodes.n1, "hello", chat, agent);
  const [{ node, session } = {}] = turns;
  const here = node === "n1" ? "n1" : "n2";
  const there = here === "n1" ? "n2" : "n1";
  return { chat, home: nodes[here], other: nodes[there], here, there, session };
}

describe.skipIf(NO_POSTGRES !== undefined)(`native sessions on two daemons${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, { timeout: 120_000 }, () => {
  it("SES-01 a conversation stays on the node of its session for ten turns, whichever node its messages come to", async () => {
    const { chat, home, other, here, session } = await begin("stays");
    for (let n = 1; n < 10; n += 1) {
      const { turns, trace } = await say(n % 2 === 1 ? other : home, `message ${n}`, chat);
      expect(turns).toMatchObject([{ node: here, at: "begin", given: session, session }]);
      expect(stepsOf(trace)).toEqual([]);
    }
  });

  it("FAULT-01 the node of a session is killed: its conversation moves, its trace says so, and a fresh session is told what was said before", async () => {
    const { chat, home, other, here, there } = await begin("moving");
    await say(home, "my name is Ada", chat);
    await home.kill("SIGKILL");
    const moved = await say(other, "who am I?", chat);
    expect(moved.turns).toMatchObject([{ node: there, at: "begin" }]);
    expect(moved.turns[0]).not.toHaveProperty("given");
    expect(stepsOf(moved.trace)).toEqual([`moved ${here} -> ${there}`]);
    expect(moved.turns[0]?.history).toBe(
      "## Earlier in this conversation\nUser: hello\nYou: answer to hello\nUser: my name is Ada\nYou: answer to my name is Ada",
    );
    const next = await say(other, "and now?", chat);
    expect(next.turns).toMatchObject([{ node: there, given: moved.turns[0]?.session }]);
    expect(stepsOf(next.trace)).toEqual([]);
  });

  it("FAULT-01 a turn that is under way when its node is killed goes on elsewhere in a fresh session with the history", async () => {
    const { chat, home, other, here, there } = await begin("under way");
    writeFileSync(join(folder, "hold"), "");
    const id = await send(other, "hold on", chat);
    await vi.waitFor(() => expect(noted(id)).toMatchObject([{ node: here }]), PATIENCE);
    await home.kill("SIGKILL");
    await vi.waitFor(() => expect(noted(id)).toMatchObject([{ node: here }, { node: there, at: "begin" }]), PATIENCE);
    rmSync(join(folder, "hold"));
    const trace = await ended(other, id);
    expect(trace.steps.map(({ name }) => name).slice(0, 2)).toEqual(["takeover", "session"]);
    expect(stepsOf(trace)).toEqual([`moved ${here} -> ${there}`]);
    expect(noted(id)[1]?.history).toContain("User: hello\nYou: answer to hello");
  });

  it("a session that every node can go on with is gone on with, wherever its conversation is", async () => {
    const { chat, home, other, there, session } = await begin("anywhere", "anywhere");
    await home.kill("SIGTERM");
    const next = await say(other, "second", chat, "anywhere");
    expect(next.turns).toMatchObject([{ node: there, at: "begin", given: session }]);
    expect(stepsOf(next.trace)).toEqual([]);
  });

  it("a node that is drained lets its conversations go, and one that comes back is told what was said meanwhile", async () => {
    const { chat, home, other, here, there } = await begin("drained");
    expect(await drainNode({ ...store, poolSize: 1 }, here, true)).toBe(true);
    const moved = await say(other, "elsewhere", chat);
    expect(moved.turns).toMatchObject([{ node: there, at: "begin" }]);
    expect(stepsOf(moved.trace)).toEqual([`moved ${here} -> ${there}`]);
    expect(await home.ended, home.said()).toBe(0);
    const again = await nodeOf(here);
    await other.kill("SIGTERM");
    const back = await say(again, "here again", chat);
    expect(stepsOf(back.trace)).toEqual([`moved ${there} -> ${here}`]);
    expect(back.turns[0]?.history).toBe("## Earlier in this conversation\nUser: hello\nYou: answer to hello\nUser: elsewhere\nYou: answer to elsewhere");
  });
});
