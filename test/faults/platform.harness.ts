import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Arrived } from "./history.ts";

/** What people see: it outlives every daemon, takes each message once a key, and one without a key as often as it comes. */
export interface Platform {
  readonly url: string;
  readonly arrived: readonly Arrived[];
  /** Takes away what has arrived; keys are known on. */
  forget(): void;
  close(): Promise<void>;
}

export async function openPlatform(): Promise<Platform> {
  const arrived: Arrived[] = [];
  const ids = new Map<string, string>();
  let last = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      // Killed before it had said everything: nothing has arrived.
      return;
    }
    const { chat, text, key } = JSON.parse(body);
    const platformId = ids.get(key) ?? String(++last);
    if (!ids.has(key)) arrived.push({ chat, text });
    if (key !== undefined) ids.set(key, platformId);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ platformId }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrived,
    forget() {
      arrived.length = 0;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
