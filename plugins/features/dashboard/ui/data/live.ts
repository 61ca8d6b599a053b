import { useEffect, useRef, useSyncExternalStore } from "react";
import { type Access, type Connection, type Frame, LiveSource, type SourceEvents } from "./live-source.ts";
import type { ToWorker } from "./live-worker.ts";
import { session } from "./session.ts";

type Listener = (frame: Frame) => void;

/** Interval of a page's heartbeat to the worker. */
const HERE_MS = 30_000;

const listeners = new Set<Listener>();
const watchers = new Set<() => void>();
const greeters = new Set<() => void>();
let connection: Connection = { state: "connecting", since: Date.now() };
let retry: () => void = () => {};
let joined = false;

const events: SourceEvents = {
  frame(frame) {
    for (const listener of [...listeners]) listener(frame);
  },
  connection(now) {
    const opened = now.state === "connected" && connection.state !== "connected";
    connection = now;
    for (const watcher of [...watchers]) watcher();
    if (opened) for (const greeter of [...greeters]) greeter();
  },
  refused: (why, token) => session.refuse(why, { token }),
};

const access = (): Access => {
  const daemon = session.daemon();
  return { token: session.token(), prefix: daemon === undefined ? "" : `/api/via/${encodeURIComponent(daemon)}` };
};

/** Joins the stream of the browser, once a page: called by the shell. */
export function joinLive(): void {
  if (joined) return;
  joined = true;
  if (typeof SharedWorker === "undefined") joinAlone();
  else joinShared();
}

function joinAlone(): void {
  const source = new LiveSource(events);
  const open = () => source.open(access());
  retry = () => source.retry();
  session.subscribe(open);
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", open);
  open();
}

function joinShared(): void {
  const worker = new SharedWorker(new URL("./live-worker.ts", import.meta.url), { type: "module", name: "svc live" });
  const say = (message: ToWorker) => worker.port.postMessage(message);
  const here = () => say({ say: "here", access: access() });
  worker.port.onmessage = ({ data }: MessageEvent<{ frame?: Frame; connection?: Connection; refused?: { why: string; token?: string } }>) => {
    if (data.connection !== undefined) events.connection(data.connection);
    if (data.frame !== undefined) events.frame(data.frame);
    if (data.refused !== undefined) events.refused(data.refused.why, data.refused.token);
  };
  retry = () => say({ say: "retry" });
  session.subscribe(here);
  setInterval(here, HERE_MS);
  addEventListener("pagehide", () => say({ say: "bye" }));
  addEventListener("pageshow", here);
  here();
}

/** Hears frames of the live stream outside of components; gives the way to stop. */
export function onFrame(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Hears when this page begins to hear the stream: what was read before may have changed unheard. Gives the way to stop. */
export function onConnected(greeter: () => void): () => void {
  greeters.add(greeter);
  return () => greeters.delete(greeter);
}

/**
 * Hears the frames of the live stream while the component is there: `event` with an Envelope, `daemon`, `snapshot` when the stream (re)opens,
 * and `gap` when something may have been missed. What there was before is to be read with `useResource`.
 */
export function useLive(listener: Listener, { names }: { readonly names?: readonly Frame["name"][] } = {}): void {
  const last = useRef({ listener, names });
  last.current = { listener, names };
  useEffect(() => onFrame((frame) => (last.current.names?.includes(frame.name) ?? true) && last.current.listener(frame)), []);
}

/** State of the stream: to disable buttons while the page is stale. */
export function useConnection(): Connection {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => connection,
  );
}

/** Waits while the stream is lost; false where it is not lost, so that there is nothing to wait for. */
export async function untilConnected(): Promise<boolean> {
  if (connection.state === "connected") return false;
  await new Promise<void>((resolve) => {
    const end = onConnected(() => {
      end();
      resolve();
    });
  });
  return true;
}

/** Tries to reach the server at once. */
export function retryNow(): void {
  retry();
}
