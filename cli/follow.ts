import { setTimeout as pause } from "node:timers/promises";
import type { StreamedEvent, StreamOptions } from "@svc/sdk";
import type { Frame } from "./client.ts";
import { fail } from "./errors.ts";
import { NO_DAEMON } from "./exit.ts";
import type { OwnDaemon } from "./own-daemon.ts";

/** Backoff before a stream is reconnected, first and longest, and the time without a daemon until it gives up, in milliseconds. */
const FIRST_MS = 500;
const LONGEST_MS = 10_000;
const GIVE_UP_MS = 60_000;

/** `CliHost.stream`. */
export async function follow(
  daemon: Pick<OwnDaemon, "frames">,
  path: string,
  onEvent: (event: StreamedEvent) => unknown,
  { method = "GET", body, reconnect = false, signal }: StreamOptions = {},
): Promise<void> {
  const again = reconnect && method === "GET";
  let lastId: string | undefined;
  let pauseMs = FIRST_MS;
  let answered: number | undefined;
  for (;;) {
    const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
    const frames = daemon.frames(method, path, body, { headers, ...(signal === undefined ? {} : { signal }) });
    try {
      for (let next = await frames.next(); next.done !== true; next = await frames.next()) {
        pauseMs = FIRST_MS;
        answered = performance.now();
        lastId = next.value.id ?? lastId;
        if ((await tell(onEvent, next.value)) === false) return;
      }
      if (!again) return;
      answered = performance.now();
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof Told) throw error.cause;
      // A stream on which nothing has come yet was a stream all the same.
      if (isCut(error)) answered = performance.now();
      const isAway = isBroken(error) || mayComeBack(error);
      if (!isAway || !again || answered === undefined) throw isBroken(error) ? fail("SVC_CLI_STREAM", { path, reason: (error as Error).message }) : error;
      if (performance.now() - answered > GIVE_UP_MS) throw error;
    } finally {
      await frames.return(undefined);
    }
    await pause(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
    if (signal?.aborted) return;
    pauseMs = Math.min(pauseMs * 2, LONGEST_MS);
  }
}

/** Wraps an error of the command's own code: the stream is not to blame. */
class Told extends Error {}

async function tell(onEvent: (event: StreamedEvent) => unknown, frame: Frame): Promise<unknown> {
  try {
    return await onEvent(frame);
  } catch (cause) {
    throw new Told("", { cause });
  }
}

/** The connection went, without a word of the daemon. */
const isBroken = (error: unknown): boolean => {
  const { code = "", message } = error as { code?: string; message: string };
  return !code.startsWith("SVC_") && (code.startsWith("E") || message === "aborted" || message === "terminated");
};

/** The connection went after the daemon had begun to answer. */
const isCut = (error: unknown): boolean => ["aborted", "terminated"].includes((error as Error).message);

/** A daemon that restarts: it does not answer yet, or accepts no requests for the moment. */
const mayComeBack = (error: unknown): boolean => {
  const { code = "", status } = error as { code?: string; status?: number };
  return NO_DAEMON.has(code) || status === 503;
};
