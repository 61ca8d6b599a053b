import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** One request being answered, in the words that all APIs share. */
export interface Exchange {
  /** Ids that differ within a server: `msg_1`, `toolu_2` ... */
  id(prefix: string): string;
  json(status: number, body: unknown): void;
  stream(): Stream;
  /** Never answers; resolves when the client has gone. */
  hang(): Promise<void>;
  /** Cuts the connection. */
  drop(): void;
}

export interface Stream {
  event(data: unknown, name?: string): void;
  /** Waits, at most until the client has gone. */
  pause(ms: number): Promise<void>;
  end(last?: string): void;
}

export function createExchange(response: ServerResponse, id: (prefix: string) => string): Exchange {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  return {
    id,
    json(status, body) {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    },
    stream() {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" }).flushHeaders();
      return {
        event: (data, name) => void response.write(`${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`),
        pause: async (ms) => void (ms > 0 && (await delay(ms, undefined, { signal: gone.signal }).catch(() => undefined))),
        end: (last) => void response.end(last),
      };
    },
    hang: () => new Promise((resolve) => (gone.signal.aborted ? resolve() : gone.signal.addEventListener("abort", () => resolve(), { once: true }))),
    // One turn of the event loop later: what was written is on its way by then.
    drop: () => void setImmediate(() => response.destroy()),
  };
}
