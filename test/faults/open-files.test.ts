import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-files-"));
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

const message = { agent: "echo", message: "hello" };

/** One connection, and what came in on it. */
interface Held {
  readonly socket: Socket;
  said: string;
}

/** Opens `count` connections and waits until each is open or refused; none asks anything. */
async function hold({ port }: DaemonProcess, count: number): Promise<Held[]> {
  const all = Array.from({ length: count }, () => {
    const held: Held = { socket: connect(port, "127.0.0.1"), said: "" };
    held.socket.setEncoding("utf8").on("data", (text: string) => {
      held.said += text;
    });
    held.socket.on("error", () => {});
    return held;
  });
  await Promise.all(all.map(async ({ socket }) => socket.connecting && Promise.race([once(socket, "connect"), once(socket, "close")])));
  // The daemon takes connections in order: once it has answered or closed another one, it has seen all of these.
  await ask(port, "/health").catch(() => {});
  return all;
}

/** Asks over a connection that is already open. Resolves with what it said; the empty text when it was closed instead. */
async function askOn(held: Held, path: string, body?: unknown): Promise<string> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const type = body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  held.said = "";
  held.socket.write(
    `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nConnection: close\r\n${type}\r\n${text}`,
  );
  if (!held.socket.closed) await once(held.socket, "close");
  return held.said;
}

for (const limit of [64, 128, 256]) {
  it.skipIf(!existsSync("/proc/self/limits"))(
    `FLT-8 of more connections than ${limit} open files allow, the last are refused with the reason, and messages work during and after the burst`,
    async () => {
      writeConfig(folder);
      const daemon = await startDaemon(folder, { prefix: ["sh", "-c", `ulimit -n ${limit}; exec "$0" "$@"`] });
      const all = await hold(daemon, limit + 50);
      const refused = await ask<{ code: string; error: string }>(daemon.port, "/health");
      expect(refused).toMatchObject({ status: 503, body: { code: "SVC_HTTP_CONNECTIONS", error: expect.stringContaining(`limit of ${limit} open files`) } });
      expect(refused.headers.get("retry-after")).toBe("1");
      const held = all.filter(({ socket, said }) => !socket.destroyed && said === "");
      expect(held.length).toBeGreaterThan(limit / 8);
      expect(held.length).toBeLessThan(all.length);
      // The first message loads what every message needs, while the daemon has no room for another connection.
      expect(await askOn(held.pop() as Held, "/task", message)).toContain('"ok":true');
      // The place that became free is taken by the next one.
      expect(await askOn(held.pop() as Held, "/health")).toContain("leaves no room for more connections");
      for (const one of held.splice(0, 8)) expect(await askOn(one, "/task", message)).toContain('"ok":true');
      for (const { socket } of all) socket.destroy();
      const { body } = await ask<{ ok: boolean }>(daemon.port, "/task", message);
      expect(body.ok).toBe(true);
      expect(daemon.said().match(/leaves no room for more connections/g)).toHaveLength(1);
      expect(daemon.said()).not.toContain("EMFILE");
      await daemon.kill("SIGTERM");
      expect(await daemon.ended).toBe(0);
    },
  );
}
