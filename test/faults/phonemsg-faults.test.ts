import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import type { Person } from "../kit/phonemsg/accounts.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { type PhoneDaemon, type PhoneSet, preparePhone } from "./phonemsg.harness.ts";

let onDisk: PhoneSet | undefined;
let disk: ReturnType<typeof smallDisk>;
/** Of the tests whose disk is any: linked once, as a device makes hundreds of keys. After a failure there is a new one. */
let common: PhoneSet | undefined;
const closeCommon = async () => {
  await common?.close();
  common = undefined;
};
afterEach(async ({ task }) => {
  await onDisk?.rest();
  disk?.remove();
  disk = undefined;
  await onDisk?.close();
  onDisk = undefined;
  await (task.result?.state === "fail" ? closeCommon() : common?.rest());
});
afterAll(closeCommon);

const PATIENCE = { timeout: 60_000, interval: 100 };
const until = (condition: () => boolean) => expect.poll(condition, PATIENCE).toBe(true);
const isReady = (daemon: PhoneDaemon) => expect.poll(async () => (await daemon.channel())?.state, PATIENCE).toBe("ready");
const says = (daemon: PhoneDaemon, reason: RegExp) => expect.poll(async () => (await daemon.channel())?.reason, PATIENCE).toMatch(reason);
/** What people see from now on. */
function watch({ server }: PhoneSet): () => string[] {
  const before = server.chats.shown.length;
  return () => server.chats.shown.slice(before).map(({ text }) => text);
}

describe.skipIf(lacking)("phonemsg", { timeout: 180_000 }, () => {
  it("FAULT-03 FAULT-09 the disk of the session fills up under a running daemon: it takes and sends nothing, says why, and goes on by itself, also after a kill", async (ctx) => {
    const set = await preparePhone({
      at: (session) => {
        disk = smallDisk(session, "4m");
      },
    });
    onDisk = set;
    if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
    const { server, people, session } = set;
    const shown = watch(set);
    const [friend] = people as [Person];
    const daemon = await set.start();
    await isReady(daemon);
    await server.say({ from: friend, text: "before" });
    await until(() => shown().length === 1);
    const theirs = join(session, "theirs");
    const grow = () => {
      for (const bytes of [64 * 1024, 1]) {
        try {
          for (;;) writeFileSync(theirs, Buffer.alloc(bytes), { flag: "a" });
        } catch {
          // Full.
        }
      }
    };
    grow();
    await server.say({ from: friend, text: "while it is full" });
    await says(daemon, /keys of the conversation cannot be written to .*session \(ENOSPC\)/);
    expect([(await daemon.channel())?.state, shown(), server.waiting.length, server.nacks]).toEqual(["down", ["before"], 1, []]);
    // A start on the full disk says the same, and loses nothing.
    await daemon.kill();
    grow();
    const next = await set.start();
    await says(next, /keys of the conversation cannot be written/);
    expect([shown(), server.waiting.length, server.nacks]).toEqual([["before"], 1, []]);
    rmSync(theirs);
    await until(() => shown().length === 2 && server.waiting.length === 0);
    await isReady(next);
    await server.say({ from: friend, text: "after" });
    await until(() => shown().length === 3);
    expect(shown()).toEqual(["before", "while it is full", "after"]);
    expect([server.nacks, server.unopened]).toEqual([[], []]);
  });

  it("a second daemon on the same session folder is refused in words, the first one goes on, and after its end the second one may", async () => {
    common ??= await preparePhone();
    const set = common;
    const shown = watch(set);
    const { server, people } = set;
    const [friend] = people as [Person];
    const one = await set.start("one");
    await isReady(one);
    const connections = server.connections;
    const two = await set.start("two");
    const health = JSON.stringify(await two.get("/health"));
    expect(health).toMatch(/another process uses the session folder .*session; stop it, or give this daemon another channels.phonemsg.sessionDir/);
    expect(server.connections).toBe(connections);
    await server.say({ from: friend, text: "who is there?" });
    await until(() => shown().length === 1);
    await two.kill();
    await one.kill();
    const three = await set.start("two");
    await isReady(three);
    await server.say({ from: friend, text: "and now?" });
    await until(() => shown().length === 2);
    expect(shown()).toEqual(["who is there?", "and now?"]);
  });

  it("another program with the same device takes the place: the channel says so and leaves it there", async () => {
    common ??= await preparePhone();
    const set = common;
    const shown = watch(set);
    const { server, people, session } = set;
    const [friend] = people as [Person];
    const copy = `${session}-copy`;
    cpSync(session, copy, { recursive: true });
    expect(existsSync(join(copy, "session.journal"))).toBe(true);
    const one = await set.start("one");
    await isReady(one);
    const two = await set.start("two", { sessionDir: copy });
    await isReady(two);
    await says(one, /another program uses this linked device; stop it, or unlink the device on the phone and pair again: svc phonemsg pair/);
    const connections = server.connections;
    await server.say({ from: friend, text: "hello" });
    await until(() => shown().length === 1);
    expect([(await two.channel())?.state, server.connections]).toEqual(["ready", connections]);
  });
});
