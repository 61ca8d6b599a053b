import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ask, endDaemons, handOver, startDaemon, writeConfig } from "./daemon.harness.ts";

let folder: string;
let silent: Server;
const sockets: Socket[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-deaf-"));
  silent = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await endDaemons();
  for (const socket of sockets.splice(0)) socket.destroy();
  silent.close();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

it("ENG-3 a stop does not wait for an engine that was given up, nor for what that left open", { timeout: 60_000 }, async () => {
  const agents = { deaf: { name: "Deaf", workspace: "./w", tier: "deaf", maxConcurrent: 4 } };
  writeConfig(folder, { agents, node: { id: "deaf", name: "Deaf", bind: "127.0.0.1:0" }, plugins: [join(import.meta.dirname, "deaf.mjs")] });
  const port = (silent.address() as { port: number }).port;
  const daemon = await startDaemon(folder, { env: { SVC_TEST_SILENT: String(port) } });
  const { taskId } = await handOver(daemon.port, { agent: "deaf", message: "one" }, "one");
  await vi.waitFor(() => expect(sockets).toHaveLength(1), { timeout: 10_000 });
  expect((await ask(daemon.port, `/api/tasks/${taskId}/cancel`, {})).status).toBe(200);
  expect((await ask<{ tasks: object }>(daemon.port, "/health")).body.tasks).toEqual({ running: 0, queued: 0 });
  process.kill(daemon.pid, "SIGTERM");
  expect(await daemon.ended).toBe(0);
  expect(daemon.said()).toContain("still open after the stop");
});
