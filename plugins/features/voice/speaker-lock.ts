import { unlink } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "@svc/sdk";

const PAUSE_MS = 100;

/**
 * The machine's one speaker, whichever daemon holds it: a socket of a known name that one process can listen on. The system frees it
 * when that process dies, and a process that waits is connected to it and learns at once that it is free.
 */
export async function takeSpeaker(name: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const isAbstract = process.platform === "linux";
  const path = isAbstract ? `\0svc-speaker-${name}` : join(tmpdir(), `svc-speaker-${name}.sock`);
  for (;;) {
    signal.throwIfAborted();
    const release = await listen(path);
    if (release !== undefined) return release;
    // Left by a process that died, where names are files.
    if ((await untilFree(path, signal)) === "dead" && !isAbstract) await unlink(path).catch(() => {});
    await sleep(Math.random() * PAUSE_MS, signal);
  }
}

function listen(path: string): Promise<(() => Promise<void>) | undefined> {
  return new Promise((resolve, reject) => {
    const waiting = new Set<{ destroy(): void }>();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on("error", () => {}).on("close", () => waiting.delete(socket));
    });
    server.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve(undefined) : reject(error)));
    server.listen(path, () => {
      resolve(
        () =>
          new Promise((freed) => {
            server.close(() => freed());
            for (const socket of waiting) socket.destroy();
          }),
      );
    });
  });
}

/** Resolves when the process that listens there has ended or let go. */
function untilFree(path: string, signal: AbortSignal): Promise<"free" | "dead"> {
  return new Promise((resolve) => {
    let isConnected = false;
    const socket = connect(path);
    const leave = () => socket.destroy();
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    socket.on("connect", () => {
      isConnected = true;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      signal.removeEventListener("abort", leave);
      resolve(isConnected ? "free" : "dead");
    });
    socket.resume();
  });
}
