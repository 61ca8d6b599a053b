import { stat, unlink } from "node:fs/promises";
import { createConnection, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { svcError } from "@svc/sdk";

/** The right to be the one that uses a session folder; it ends with the process, however that ends. */
export interface FolderHolder {
  release(): Promise<void>;
}

/**
 * Takes a folder for this process: a local socket named after the folder itself, so that no other path to it helps and no file is left behind
 * that a crash would make stale. Throws `SVC_PHONEMSG_SESSION_BUSY` (409) while another process has it.
 */
export async function holdFolder(folder: string): Promise<FolderHolder> {
  const { dev, ino } = await stat(folder);
  const name = `svc-phonemsg-${dev}-${ino}`;
  const path = process.platform === "linux" ? `\0${name}` : process.platform === "win32" ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
  const server = createServer((socket) => socket.destroy());
  try {
    await listen(server, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    const isFile = !path.startsWith("\0") && process.platform !== "win32";
    if (!isFile || (await answers(path))) throw busy(folder);
    await unlink(path).catch(() => {});
    await listen(server, path).catch(() => {
      throw busy(folder);
    });
  }
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

const busy = (folder: string) =>
  svcError(
    "SVC_PHONEMSG_SESSION_BUSY",
    `another process uses the session folder ${folder}; stop it, or give this daemon another channels.phonemsg.sessionDir`,
    {
      status: 409,
    },
  );

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
