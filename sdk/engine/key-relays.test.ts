import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createKeyRelays, type KeyRelays } from "./key-relays.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A vendor that tells which key it was asked with, at once or when `release` is called. */
async function vendor(): Promise<{ base: string; waiting: Promise<unknown>; release(): unknown }> {
  const held: ServerResponse[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    response.write(`${String(request.headers["x-api-key"])}\n`);
    if (request.url?.endsWith("/slow")) {
      held.push(response);
      server.emit("waiting");
    } else response.end("whole");
  });
  const waiting = once(server, "waiting");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, waiting, release: () => held.splice(0).map((each) => each.end("whole")) };
}

const relays = (): KeyRelays => {
  const made = createKeyRelays();
  closing.push(() => made.close());
  return made;
};
const paidBy = (base: string, key: string) => ({ base, paths: ["/v1"], headers: { "x-api-key": key }, without: ["x-api-key"] });
const ask = ({ port, token }: { port: number; token: string }, path: string) =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers: { "x-api-key": token } }).then(async (answer) => [answer.status, await answer.text()]);

describe("ENG-7 the relays of a key", () => {
  it("ENG-7 one relay serves a vendor and key, and puts the key in", async () => {
    const { base } = await vendor();
    const keys = relays();
    const [one, same] = [await keys.relayFor(paidBy(base, "first")), await keys.relayFor(paidBy(base, "first"))];
    expect(same).toBe(one);
    expect(await ask(one, "/v1/quick")).toEqual([200, "first\nwhole"]);
  });

  it("ENG-7 the relay of a changed key ends its exchanges and takes no more", async () => {
    const { base, waiting, release } = await vendor();
    const keys = relays();
    const former = await keys.relayFor(paidBy(base, "first"));
    const slow = ask(former, "/v1/slow");
    await waiting;
    const now = await keys.relayFor(paidBy(base, "second"));
    expect(now.port).not.toBe(former.port);
    expect(await ask(now, "/v1/quick")).toEqual([200, "second\nwhole"]);
    await expect(ask(former, "/v1/quick")).rejects.toThrow();
    release();
    expect(await slow).toEqual([200, "first\nwhole"]);
  });

  it("ENG-7 two vendors keep their relays beside each other until both are closed", async () => {
    const [left, right] = [await vendor(), await vendor()];
    const keys = relays();
    const [one, other] = [await keys.relayFor(paidBy(left.base, "first")), await keys.relayFor(paidBy(right.base, "second"))];
    expect(await ask(one, "/v1/quick")).toEqual([200, "first\nwhole"]);
    expect(await ask(other, "/v1/quick")).toEqual([200, "second\nwhole"]);
    await keys.close();
    for (const relay of [one, other]) await expect(ask(relay, "/v1/quick")).rejects.toThrow();
  });
});
