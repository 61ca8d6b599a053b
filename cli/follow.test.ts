import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { stream } from "./client.ts";
import { follow } from "./follow.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Answers the first request with the first handler, and so on; the last one again and again. */
async function far(...handlers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    (handlers[asked.length - 1] ?? handlers.at(-1))?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  const frames: Parameters<typeof follow>[0]["frames"] = (method, path, body, terms = {}) => stream(address, method, path, body, terms);
  return { daemon: { frames }, asked };
}

const sse = (response: ServerResponse, text: string) => response.writeHead(200, { "content-type": "text/event-stream" }).write(text);
const ending = (text: string) => (_request: IncomingMessage, response: ServerResponse) => {
  sse(response, text);
  response.end();
};
const breaking = (text: string) => (_request: IncomingMessage, response: ServerResponse) => {
  sse(response, text);
  setImmediate(() => response.destroy());
};
const refusing = (status: number) => (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: "no", code: "SVC_TEST_NO" }));
};

it("K24 hands over server-sent events in order, one after the other, and ends with the stream", async () => {
  const { daemon } = await far(ending(': hello\n\nevent: a\nid: 7\ndata: {"n": 1}\n\ndata: two\ndata: lines\n\n'));
  const told: unknown[] = [];
  let busy = false;
  await follow(daemon, "/x", async (event) => {
    expect(busy).toBe(false);
    busy = true;
    await new Promise((resolve) => setTimeout(resolve, 5));
    busy = false;
    told.push(event);
  });
  expect(told).toEqual([
    { event: "a", data: { n: 1 }, id: "7" },
    { event: "message", data: "two\nlines" },
  ]);
});

it("K24 hands over lines of JSON, the last one without its line end too", async () => {
  const { daemon } = await far((_request, response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.write('{"n": 1}\n{"n"');
    setImmediate(() => response.end(': 2}\n\n{"n": 3}'));
  });
  const told: unknown[] = [];
  await follow(daemon, "/x", ({ event, data }) => void told.push([event, data]));
  expect(told).toEqual([1, 2, 3].map((n) => ["message", { n }]));
});

it("K24 a stream that breaks fails with its path; with reconnect it is asked for again from the last event on, until it is enough", async () => {
  const { daemon } = await far(breaking("id: 1\ndata: 1\n\n"));
  await expect(follow(daemon, "/watch", () => {})).rejects.toMatchObject({ code: "SVC_CLI_STREAM", message: expect.stringContaining("/watch") });

  const again = await far(breaking("id: 1\ndata: 1\n\n"), refusing(503), ending("id: 2\ndata: 2\n\n"), ending("id: 3\ndata: 3\n\n"));
  const told: unknown[] = [];
  await follow(
    again.daemon,
    "/watch",
    ({ data }) => {
      told.push(data);
      return data !== 3;
    },
    { reconnect: true },
  );
  expect(told).toEqual([1, 2, 3]);
  expect(again.asked.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "1", "1", "2"]);
}, 20_000);

it("K24 a stream that breaks before anything came on it is asked for again, too", async () => {
  const { daemon, asked } = await far(breaking(": nothing yet\n\n"), ending("data: 1\n\n"));
  await expect(follow(daemon, "/watch", () => {})).rejects.toMatchObject({ code: "SVC_CLI_STREAM" });
  const again = await far(breaking(": nothing yet\n\n"), ending("data: 1\n\n"));
  await follow(again.daemon, "/watch", () => false, { reconnect: true });
  expect([asked.length, again.asked.length]).toEqual([1, 2]);
});

it("K24 a refusal is final, also the one of a stream that was there, and so is a daemon that never answered", async () => {
  const { daemon, asked } = await far(ending("data: 1\n\n"), refusing(403));
  await expect(follow(daemon, "/x", () => {}, { reconnect: true })).rejects.toMatchObject({ code: "SVC_TEST_NO", status: 403 });
  expect(asked).toHaveLength(2);
  const nobody: Parameters<typeof follow>[0]["frames"] = (method, path) => stream({ host: "127.0.0.1", port: 1 }, method, path);
  await expect(follow({ frames: nobody }, "/x", () => {}, { reconnect: true })).rejects.toMatchObject({ code: "SVC_CLI_NO_DAEMON" });
});

it("K24 a POST is never repeated, and what the command itself throws comes out as it is", async () => {
  const { daemon, asked } = await far(breaking("data: 1\n\n"));
  await expect(follow(daemon, "/x", () => {}, { method: "POST", body: {}, reconnect: true })).rejects.toMatchObject({ code: "SVC_CLI_STREAM" });
  const own = Object.assign(new Error("mine"), { code: "ECONNRESET" });
  const throwing = () => {
    throw own;
  };
  await expect(follow(daemon, "/x", throwing, { reconnect: true })).rejects.toBe(own);
  expect(asked).toHaveLength(2);
});

it("K24 an abort ends it without an error, while it listens and while it waits", async () => {
  const open = await far((_request, response) => sse(response, "data: 1\n\n"));
  const listening = new AbortController();
  await follow(open.daemon, "/x", () => listening.abort(), { signal: listening.signal });
  const closed = await far(ending("data: 1\n\n"));
  const waiting = new AbortController();
  await follow(closed.daemon, "/x", () => void setTimeout(() => waiting.abort(), 20), { signal: waiting.signal, reconnect: true });
  expect(closed.asked).toHaveLength(1);
});
