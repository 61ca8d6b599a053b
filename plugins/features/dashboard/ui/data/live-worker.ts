import { type Access, LiveSource } from "./live-source.ts";

/** Messages of a page to the worker. */
export type ToWorker = { readonly say: "here"; readonly access: Access } | { readonly say: "bye" } | { readonly say: "retry" };

/** Longer than a browser lets the timers of a hidden page sleep. */
const SILENT_MS = 150_000;

interface WorkerScope {
  onconnect: ((event: MessageEvent) => void) | null;
}

const pages = new Map<MessagePort, number>();
const tell = (message: unknown) => {
  for (const port of pages.keys()) port.postMessage(message);
};
const source = new LiveSource({
  frame: (frame) => tell({ frame }),
  connection: (connection) => tell({ connection }),
  refused: (why, token) => tell({ refused: { why, token } }),
});

function leave(port: MessagePort): void {
  pages.delete(port);
  if (pages.size === 0) source.close();
}

(globalThis as unknown as WorkerScope).onconnect = ({ ports: [port] }) => {
  if (port === undefined) return;
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.say === "bye") return leave(port);
    if (data.say === "retry") return source.retry();
    const known = pages.has(port);
    pages.set(port, Date.now());
    // The page loads the earlier state itself.
    if (!known) port.postMessage({ connection: source.connection });
    source.open(data.access);
  };
};

setInterval(() => {
  const now = Date.now();
  for (const [port, heard] of pages) if (now - heard > SILENT_MS) leave(port);
}, SILENT_MS / 5);
