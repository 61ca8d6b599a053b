import { createSocket } from "node:dgram";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import type { Log } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Discovery, notAnnounced } from "./discovery.ts";
import type { MdnsRecord } from "./mdns-client.ts";
import { OwnRecords, SERVICE, SERVICES } from "./mdns-records.ts";
import { RecordBook } from "./record-book.ts";

const packets = createRequire(createRequire(import.meta.url).resolve("multicast-dns"))("dns-packet") as {
  encode(packet: object): Buffer;
  decode(bytes: Buffer): { answers: MdnsRecord[] };
};
const log = { debug() {}, info() {}, warn() {}, error() {} } as Log;
const until = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 50 });

/** What a daemon says of itself. */
const recordsOf = (node: string, address: string, port: number) => new OwnRecords({ node, address, port }).all();
const take = (book: RecordBook, answers: readonly MdnsRecord[]) => book.take({ answers, additionals: [] });

describe("what others say of themselves", () => {
  it("is a daemon once its place, address and name are known, for as long as they said", () => {
    let now = 0;
    const book = new RecordBook(() => now);
    const [pointer, where, name, address] = recordsOf("studio", "192.0.2.10", 18_800) as [MdnsRecord, MdnsRecord, MdnsRecord, MdnsRecord];
    take(book, [pointer]);
    expect(book.found(new Set())).toEqual([]);
    expect(book.missing().map(({ type }) => type)).toEqual(["SRV", "TXT"]);
    take(book, [where, name]);
    expect(book.missing()).toMatchObject([{ type: "A" }]);
    take(book, [address]);
    expect([book.found(new Set()), book.missing()]).toEqual([[{ name: "studio", url: "http://192.0.2.10:18800" }], []]);
    now = 121_000;
    expect(book.found(new Set())).toEqual([]);
    now = 0;
    take(book, recordsOf("studio", "192.0.2.10", 18_800));
    take(book, new OwnRecords({ node: "studio", address: "192.0.2.10", port: 18_800 }).all(0));
    expect(book.found(new Set())).toEqual([]);
  });

  it("is never oneself, and never a name, address or port that could mean something else to who copies the command", () => {
    const book = new RecordBook();
    const own = new OwnRecords({ node: "here", address: "192.0.2.1", port: 1 });
    take(book, own.all());
    for (const node of ["$(reboot)", "a;b", "a b", "\u001b]0;owned\u0007", "-rf", "x".repeat(64), "", "a\nb", "../x"])
      take(book, recordsOf(node, "192.0.2.9", 18_800));
    for (const address of ["127.0.0.1", "0.0.0.0", "224.0.0.251", "255.255.255.255", "localhost", "1.2.3.4/../", 7 as never])
      take(book, recordsOf("studio", address, 18_800));
    for (const port of [0, -1, 65_536, Number.NaN, "80 -o x" as never]) take(book, recordsOf("studio", "192.0.2.9", port));
    expect(book.found(new Set([own.instance.toLowerCase()]))).toEqual([]);
    for (const data of [undefined, null, 7, {}, [], "x".repeat(300), SERVICE])
      for (const type of ["PTR", "SRV", "TXT", "A"]) take(book, [{ name: SERVICE, type, ttl: 100, data }]);
    expect(book.found(new Set([own.instance.toLowerCase()]))).toEqual([]);
  });

  it("a flood of names keeps a bounded book, and those known before stay", () => {
    const book = new RecordBook();
    take(book, recordsOf("studio", "192.0.2.10", 18_800));
    for (let n = 0; n < 5_000; n += 1) take(book, recordsOf(`flood-${n}`, "192.0.2.66", 1 + n));
    const found = book.found(new Set());
    expect(found.length).toBeLessThanOrEqual(256);
    expect(found).toContainEqual({ name: "studio", url: "http://192.0.2.10:18800" });
    expect(book.missing().length).toBeLessThanOrEqual(20);
  });
});

it("answers for its service and its own names alone", () => {
  const own = new OwnRecords({ node: "here", address: "192.0.2.1", port: 18_800 });
  expect(own.answer({ name: SERVICE.toUpperCase(), type: "PTR" })?.answers).toEqual([expect.objectContaining({ data: own.instance })]);
  expect(own.answer({ name: SERVICES, type: "PTR" })?.answers).toEqual([expect.objectContaining({ data: SERVICE })]);
  expect(own.answer({ name: own.instance, type: "SRV" })?.answers).toMatchObject([{ type: "SRV", data: { port: 18_800 } }]);
  for (const question of [
    { name: SERVICE, type: "A" },
    { name: "_http._tcp.local", type: "PTR" },
    { name: own.instance, type: "AAAA" },
  ])
    expect(own.answer(question)).toBeUndefined();
});

it.each([
  [undefined, "it opens no port"],
  [{ host: "127.0.0.1", port: 1 }, "no other machine reaches it"],
  [{ host: "::1", port: 1 }, "no other machine reaches it"],
  [{ host: "fd00::2", port: 1 }, "only IPv4"],
  [{ host: "0.0.0.0", port: 1 }, undefined],
  [{ host: "::", port: 1 }, undefined],
  [{ host: "192.0.2.7", port: 1 }, undefined],
])("listening on %j it says why it is not announced: %s", (listens, words) => {
  const said = notAnnounced(listens);
  if (words === undefined) expect(said).toBeUndefined();
  else expect(said).toContain(words);
});

const NETWORK = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal && one.cidr !== null);
if (NETWORK === undefined) console.warn("skipped, daemons that find each other: this machine has no network but loopback");

describe.skipIf(NETWORK === undefined)("on a network", () => {
  const open: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  const address = NETWORK?.address as string;
  /** A free port in place of that of multicast DNS, so that other tests are not heard. */
  const freePort = () =>
    new Promise<number>((resolve) => {
      const socket = createSocket("udp4").bind(0, () => {
        const { port } = socket.address();
        socket.close(() => resolve(port));
      });
    });
  function start(node: string, port: number, listens: { host: string; port: number } | undefined, said: string[] = []) {
    const heard = { ...log, info: (_facts: unknown, text: string) => void said.push(text) } as Log;
    const discovery = new Discovery({ node, listens, log: heard, port });
    discovery.start();
    open.push(discovery);
    return discovery;
  }

  it("two find each other, one that listens on loopback is not found and says so, and one that ends is gone", async () => {
    const port = await freePort();
    const said: string[] = [];
    const one = start("one", port, { host: "0.0.0.0", port: 18_801 });
    const two = start("two", port, { host: address, port: 18_802 });
    const hidden = start("hidden", port, { host: "127.0.0.1", port: 18_803 }, said);
    const both = [
      { name: "one", url: `http://${address}:18801` },
      { name: "two", url: `http://${address}:18802` },
    ];
    await until(() => expect(hidden.found()).toEqual(both));
    await until(() => expect([one.found(), two.found()]).toEqual([[both[1]], [both[0]]]));
    expect(said).toEqual([expect.stringContaining("this daemon is not announced on the network: it listens on 127.0.0.1")]);
    await two.close();
    await until(() => expect(one.found()).toEqual([]));
  });

  it("a program that asks once is answered at its own port; broken packets end nothing; nobody is called", async () => {
    const port = await freePort();
    let calls = 0;
    const trap = createServer((socket) => {
      calls += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => trap.listen(0, "0.0.0.0", resolve));
    const trapPort = (trap.address() as { port: number }).port;
    open.push({ close: () => trap.close() });
    const one = start("one", port, { host: "0.0.0.0", port: 18_801 });
    const asker = createSocket("udp4");
    open.push({ close: () => asker.close() });
    await new Promise<void>((resolve) => asker.bind(0, address, resolve));
    asker.setMulticastInterface(address);
    const send = (bytes: Buffer) => asker.send(bytes, port, "224.0.0.251");
    for (const bytes of [Buffer.alloc(0), Buffer.from([1, 2, 3]), Buffer.alloc(9_000, 0xc0), Buffer.alloc(9_000, 0xff)]) send(bytes);
    const answers: MdnsRecord[] = [];
    asker.on("message", (bytes) => answers.push(...packets.decode(bytes).answers));
    await until(() => {
      send(packets.encode({ type: "query", id: 77, questions: [{ name: SERVICE, type: "PTR" }] }));
      expect(answers.map(({ data }) => data)).toContain(new OwnRecords({ node: "one", address, port: 18_801 }).instance);
    });
    expect(answers.every(({ ttl = 0 }) => ttl <= 10)).toBe(true);
    // An answer that does not come from the port of multicast DNS counts for nothing (RFC 6762, 6).
    send(packets.encode({ type: "response", answers: recordsOf("forged", address, 18_899) }));
    const two = start("two", port, { host: "0.0.0.0", port: trapPort });
    await until(() => expect(one.found()).toEqual([{ name: "two", url: `http://${address}:${trapPort}` }]));
    await two.close();
    expect(calls).toBe(0);
  });
});
