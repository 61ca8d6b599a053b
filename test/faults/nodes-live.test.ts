import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { post } from "../kit/kernel.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

const PATIENCE = { timeout: 40_000, interval: 50 };

let server: TestServer;
let folder: string;
let schema: string;
let nodes: Readonly<Record<string, DaemonProcess>>;
const streams: AbortController[] = [];
beforeAll(async () => {
  if (NO_POSTGRES !== undefined) return;
  server = await startPostgres();
  const store = server.schema();
  schema = store.schema;
  folder = await mkdtemp(join(tmpdir(), "svc-live-"));
  const start = async (id: string) => {
    const own = join(folder, id);
    mkdirSync(own);
    writeConfig(own, {
      node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "growing" },
      agents: { growing: { name: "Growing", workspace: "./w", tier: "growing", maxConcurrent: 4, queueMode: "followup" } },
      plugins: [join(import.meta.dirname, "growing.mjs")],
      shutdown: { drainTimeoutSeconds: 1 },
      store,
    });
    return startDaemon(own, { env: { SVC_TEST_STEPS: folder } });
  };
  nodes = { n1: await start("n1"), n2: await start("n2") };
  server.sql(`CREATE TABLE ${schema}.written (at timestamptz DEFAULT now())`);
  server.sql(`CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO ${schema}.written DEFAULT VALUES; RETURN NULL; END'`);
  server.sql(`CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON ${schema}.live FOR EACH ROW EXECUTE FUNCTION ${schema}.note()`);
});
/** Of the test that runs: what it sends is not what an earlier one sent. */
let unique = 0;
beforeEach(() => {
  unique += 1;
  for (const step of [0, 1, 2]) rmSync(join(folder, `step-${step}`), { force: true });
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.abort();
});
afterAll(async () => {
  await endDaemons();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, maxRetries: 5 });
});

const reach = (step: number) => writeFileSync(join(folder, `step-${step}`), "");
const rows = () => server.sql(`SELECT count(*) FROM ${schema}.live`);
/** How often a row of growing answers was written, changed or deleted. */
const written = () => Number(server.sql(`SELECT count(*) FROM ${schema}.written`));

/** Sends a message and hears its stream: the text so far, and the result once it is there. */
async function stream({ port }: DaemonProcess, message: string, chatId: string, key: string): Promise<{ text: string; reply?: string }> {
  const abort = new AbortController();
  streams.push(abort);
  const heard: { text: string; reply?: string } = { text: "" };
  const response = await fetch(`http://127.0.0.1:${port}/task`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", "idempotency-key": key },
    body: JSON.stringify({ agent: "growing", message, context: { channel: "http", chatId } }),
    signal: abort.signal,
  });
  const read = async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const frames = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const type = /^event: (.*)$/m.exec(frame)?.[1];
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data === undefined) continue;
        const facts = JSON.parse(data) as { text?: string; reply?: string };
        if (type === "text") heard.text += facts.text;
        if (type === "done") heard.reply = facts.reply ?? "";
      }
    }
  };
  read().catch(() => {});
  return heard;
}

/** Begins a conversation: the node where it is at home, and the other one. */
async function begin(chatId: string): Promise<{ here: string; home: DaemonProcess; other: DaemonProcess }> {
  reach(0);
  const { body } = await ask<{ reply: string }>((nodes.n1 as DaemonProcess).port, "/task", {
    agent: "growing",
    message: "hello",
    context: { channel: "http", chatId },
  });
  const here = body.reply.slice(0, 2);
  return { here, home: nodes[here] as DaemonProcess, other: nodes[here === "n1" ? "n2" : "n1"] as DaemonProcess };
}

describe.skipIf(NO_POSTGRES !== undefined)(`growing answers of two daemons${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, { timeout: 120_000 }, () => {
  it("a stream shows the answer that grows on another node, and nothing of it stays in the database", async () => {
    const before = written();
    const { here, other } = await begin(`watched ${unique}`);
    const heard = await stream(other, "one 𝒯wo\u0000 three", `watched ${unique}`, `key-watched-${unique}`);
    await expect.poll(() => heard.text, PATIENCE).toBe(`${here}: one`);
    expect(heard.reply).toBeUndefined();
    expect(rows()).toBe("1");
    reach(1);
    await expect.poll(() => heard.text, PATIENCE).toBe(`${here}: one 𝒯wo\u0000`);
    expect(heard.reply).toBeUndefined();
    reach(2);
    await expect.poll(() => heard.reply, PATIENCE).toBe(`${here}: one 𝒯wo\u0000 three`);
    expect(heard.text).toBe(heard.reply);
    await expect.poll(rows, { ...PATIENCE, interval: 500 }).toBe("0");
    expect(written()).toBeGreaterThan(before);
  });

  it("who asks a third time, at a node that has not taken the message, hears it grow, too", async () => {
    const { here, home, other } = await begin(`asked again ${unique}`);
    const first = await stream(home, "one two", `asked again ${unique}`, `key-again-${unique}`);
    await expect.poll(() => first.text, PATIENCE).toBe(`${here}: one`);
    expect(rows()).toBe("0");
    const second = await stream(other, "one two", `asked again ${unique}`, `key-again-${unique}`);
    await expect.poll(() => second.text, PATIENCE).toBe(`${here}: one`);
    const another = { agent: "growing", message: "another", context: { channel: "http", chatId: `asked again ${unique}` } };
    expect(await post(`http://127.0.0.1:${other.port}`, "/task", another, { "idempotency-key": `key-again-${unique}` })).toMatchObject({
      status: 422,
      body: { code: "SVC_TASK_KEY_REUSED" },
    });
    reach(1);
    await expect.poll(() => second.reply, PATIENCE).toBe(`${here}: one two`);
    expect(first.text).toBe(`${here}: one two`);
  });

  it("nothing is written of an answer that nobody watches at another node", async () => {
    await expect.poll(rows, { ...PATIENCE, interval: 500 }).toBe("0");
    const before = written();
    const { here, home } = await begin(`alone ${unique}`);
    const heard = await stream(home, "one two", `alone ${unique}`, `key-alone-${unique}`);
    await expect.poll(() => heard.text, PATIENCE).toBe(`${here}: one`);
    reach(1);
    await expect.poll(() => heard.reply, PATIENCE).toBe(`${here}: one two`);
    expect(written()).toBe(before);
  });
});
