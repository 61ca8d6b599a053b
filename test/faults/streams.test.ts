import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ON_SERVER } from "../kit/test-store.ts";
import { ask, type DaemonProcess, endDaemons, handOver, logThread, startDaemon, writeConfig } from "./daemon.harness.ts";

let folder: string;
let daemon: DaemonProcess;
const sockets: Socket[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-streams-"));
  writeConfig(folder, { plugins: [join(import.meta.dirname, "flood.mjs")] });
  daemon = await startDaemon(folder);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

interface Stream {
  readonly status: number;
  readonly response: IncomingMessage;
  leave(): void;
}

function openStream(path = "/events?format=envelope"): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request({ host: "127.0.0.1", port: daemon.port, path, agent: false }, (response) => {
      response.on("error", () => {});
      resolve({ status: response.statusCode ?? 0, response, leave: () => sent.destroy() });
    });
    sent.on("error", reject);
    sent.on("socket", (socket) => sockets.push(socket));
    sent.end();
  });
}

const residentMb = () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${daemon.pid}/status`, "utf8"))?.[1]) / 1024;
const openFiles = () => readdirSync(`/proc/${daemon.pid}/fd`).length;
const task = async (text: string) => (await ask<{ ok: boolean }>(daemon.port, "/task", { agent: "echo", message: text })).body.ok;

it("FAULT-29 a client that stops reading is dropped with a word on where to read on; the others hear everything, and memory stays", {
  timeout: 60_000,
}, async () => {
  const slow = connect({ host: "127.0.0.1", port: daemon.port });
  sockets.push(slow);
  await once(slow, "connect");
  slow.write("GET /events?format=envelope HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
  slow.pause();
  const quick = await openStream();
  let heard = 0;
  let rest = "";
  quick.response.setEncoding("utf8").on("data", (text: string) => {
    // A mark may come in two pieces.
    const parts = (rest + text).split('"type":"flood"');
    heard += parts.length - 1;
    rest = (parts.at(-1) as string).slice(-20);
  });
  const before = residentMb();
  // In pieces, so that on a busy machine this process is not the one that reads too slowly.
  for (let told = 1_000; told <= 8_000; told += 1_000) {
    expect((await ask(daemon.port, "/flood", { count: 1_000, size: 4_000 })).status).toBe(200);
    await vi.waitFor(() => expect(heard).toBe(told), { timeout: 20_000 });
  }
  // 32 MB went out; the slow one held at most what it may, and the newest thousand events are kept for late readers.
  // With a server they also wait on their way to the other daemons.
  expect(residentMb() - before).toBeLessThan(ON_SERVER === undefined ? 120 : 200);
  let tail = "";
  slow.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString("latin1")).slice(-2_000);
  });
  slow.resume();
  await vi.waitFor(() => expect(tail).toMatch(/"gap":true.*\r\n0\r\n\r\n$/s), { timeout: 20_000 });
  expect(await task("still here")).toBe(true);
});

it("FAULT-30 of 1,000 clients as many stream as there is room for, the others get 503, and when they leave there is room again", async () => {
  const opened = await Promise.all(Array.from({ length: 1_000 }, () => openStream()));
  const streaming = opened.filter(({ status }) => status === 200);
  const refused = opened.filter(({ status }) => status !== 200);
  expect(streaming).toHaveLength(512);
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
  for (const { response } of streaming) response.resume();
  expect(await task("in between")).toBe(true);
  expect((await ask<{ ok: boolean }>(daemon.port, "/health")).body.ok).toBe(true);
  for (const { leave } of opened) leave();
  await vi.waitFor(async () => {
    const { status, leave } = await openStream();
    leave();
    expect(status).toBe(200);
  });
});

it("FAULT-31 a caller who hangs up takes nothing with it: the task ends as it would have, and is kept", async () => {
  const message = { agent: "echo", message: "said once, and gone" };
  const given = await Promise.all(
    Array.from({ length: 20 }, (_, at) => handOver(daemon.port, { ...message, context: { channel: "http", chatId: `${at}` } }, `key-${at}`)),
  );
  const vanished = connect({ host: "127.0.0.1", port: daemon.port });
  await once(vanished, "connect");
  const body = JSON.stringify(message);
  vanished.write(`POST /task HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await once(vanished, "data");
  vanished.resetAndDestroy();
  for (const { taskId } of given)
    await vi.waitFor(async () => expect((await ask(daemon.port, `/traces/${taskId}`)).body).toMatchObject({ status: "ok", response: message.message }));
  expect(daemon.said()).not.toMatch(/"level":(50|60)/);
});

it("FAULT-67 hundreds of tasks and streams come and go, and no file, socket or timer stays behind", { timeout: 120_000 }, async () => {
  const round = async () => {
    const streams = await Promise.all(Array.from({ length: 50 }, () => openStream()));
    await Promise.all(Array.from({ length: 20 }, (_, at) => task(`message ${at}`)));
    for (const { leave } of streams) leave();
  };
  await logThread(daemon, folder);
  await round();
  const settled = async () => {
    await vi.waitFor(async () => {
      const now = openFiles();
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(openFiles()).toBe(now);
    });
    return openFiles();
  };
  const before = await settled();
  for (let at = 0; at < 10; at += 1) await round();
  await vi.waitFor(async () => expect(await settled()).toBeLessThanOrEqual(before), { timeout: 20_000 });
});
