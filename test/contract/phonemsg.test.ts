import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Outgoing } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Pairing } from "../../plugins/channels/phonemsg/pair-routes.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { GROUP, type KeptPairing, keepPairing, type Stage, setStage, until } from "./phonemsg.harness.ts";

const stages: Stage[] = [];
async function stage(options?: Parameters<typeof setStage>[0]): Promise<Stage> {
  const made = await setStage(options);
  stages.push(made);
  return made;
}
async function running(options?: Parameters<typeof setStage>[0]): Promise<Stage> {
  const one = await stage(options);
  await one.start();
  return one;
}
afterEach(async () => {
  for (const one of stages.splice(0)) await one.stop();
});

const signal = new AbortController().signal;
const channelOf = ({ context }: Stage) => context.registered.channels[0]!.channel;
const out = (one: Stage, text: string, more: Partial<Outgoing> = {}): Outgoing => ({
  target: { channel: "phonemsg", chat: one.friend.number },
  text,
  plain: text,
  key: text,
  ...more,
});
const accepted = ({ context }: Stage) => context.tasks.accepted;
const pairing = async (one: Stage) => (await one.call("GET", "/channels/phonemsg/pair")) as Pairing;

describe.skipIf(lacking)("pairing", { timeout: 60_000 }, () => {
  it("by a picture: 515 is no failure, the number is linked and heard", async () => {
    const one = await running();
    expect(await pairing(one)).toEqual({ state: "open", number: `+${one.far.own.number}` });
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => accepted(one).length === 1);
    expect(accepted(one)[0]).toMatchObject({
      text: "hello",
      chat: one.friend.number,
      direct: true,
      agent: "anna",
      sender: { id: one.friend.number, name: "Frieda" },
    });
    expect(one.far.refused).toEqual([]);
  });

  it("by a code that is typed on the phone", async () => {
    const one = await stage({ linked: false });
    await one.start();
    expect((await pairing(one)).reason).toContain("svc phonemsg pair");
    await one.pair(`+${one.far.own.number}`);
    await until(() => one.state() === "ready");
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => accepted(one).length === 1);
  });

  it("refuses what is no number, and a second phone", async () => {
    const one = await stage({ linked: false });
    await one.start();
    await expect(one.call("POST", "/channels/phonemsg/pair", { number: "0170 1234567" })).rejects.toMatchObject({ code: "SVC_PHONEMSG_NUMBER" });
    await one.pair();
    await until(() => one.state() === "ready");
    await expect(one.call("POST", "/channels/phonemsg/pair", {})).rejects.toMatchObject({ code: "SVC_PHONEMSG_PAIRED" });
  });

  it("the session folder is its owner's alone, and the pairing outlives a stop", async () => {
    const one = await running();
    expect(statSync(join(one.folder, "session")).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(join(one.folder, "session"))) expect(statSync(join(one.folder, "session", name)).mode & 0o077).toBe(0);
    await one.halfStop();
    await one.start();
    expect((await pairing(one)).state).toBe("open");
  });

  it("unlinked on the phone: down with the next step, the folder kept aside, and paired anew without a restart", async () => {
    const one = await running();
    one.far.unlink();
    await until(async () => (await pairing(one)).state === "unpaired");
    expect((await pairing(one)).reason).toMatch(/unlinked this device.*svc phonemsg pair.*kept in .*session\.unpaired-/);
    expect(one.state()).toBe("down");
    const aside = readdirSync(one.folder).find((name) => name.startsWith("session.unpaired-"));
    expect(existsSync(join(one.folder, aside as string, "session.journal"))).toBe(true);
    await one.pair();
    await until(() => one.state() === "ready");
  });

  it("unpair takes the device off and says where the old session is", async () => {
    const one = await running();
    const { kept } = (await one.call("DELETE", "/channels/phonemsg/pair")) as { kept: string };
    expect(existsSync(kept)).toBe(true);
    expect((await pairing(one)).state).toBe("unpaired");
    await expect(channelOf(one).send(out(one, "x"), signal)).rejects.toMatchObject({ failure: "retry" });
  });

  it("another process may not use the session folder; another program with the device is told of", async () => {
    const one = await running();
    const two = await stage({ far: one.far, folder: one.folder, linked: false });
    await expect(two.start()).rejects.toMatchObject({ code: "SVC_PHONEMSG_SESSION_BUSY" });
  });
});

describe.skipIf(lacking)("messages", { timeout: 60_000 }, () => {
  let kept: KeptPairing;
  beforeAll(async () => {
    kept = await keepPairing();
  });
  afterAll(() => rmSync(kept.folder, { recursive: true, force: true }));
  const linked = (options: Parameters<typeof setStage>[0] = {}) => running({ ...options, kept });

  it("those that came while it was away are work, own echoes are not", async () => {
    const one = await linked();
    await one.far.echo(one.friend, "I wrote this on the phone");
    await one.halfStop();
    for (let n = 0; n < 20; n += 1) await one.far.say({ from: one.friend, text: `away ${n}` });
    await one.start();
    await until(() => accepted(one).length >= 20 && one.far.waiting.length === 0);
    expect(accepted(one).map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, n) => `away ${n}`));
    expect(one.far.nacks).toEqual([]);
  });

  it("a person under two ids stays one, over a restart", async () => {
    const one = await linked();
    await one.far.say({ from: one.friend, text: "by number" });
    one.friend.hides = true;
    await one.far.say({ from: one.friend, text: "hidden" });
    await until(() => accepted(one).length === 2);
    await one.halfStop();
    await one.start();
    await one.far.say({ from: one.friend, text: "hidden again" });
    one.friend.hides = false;
    await one.far.say({ from: one.friend, text: "by number again" });
    await until(() => accepted(one).length === 2);
    expect(new Set(accepted(one).map(({ chat, sender }) => `${chat} ${sender?.id}`))).toEqual(new Set([`${one.friend.number} ${one.friend.number}`]));
    await channelOf(one).send(out(one, "an answer"), signal);
    expect(one.far.chats.shown.map(({ chat, text }) => [chat, text])).toEqual([[one.friend.number, "an answer"]]);
  });

  it("CHAN-04 groups: by a part of the name, with the name in front on a shared number, answered in the group", async () => {
    const agents = [
      { id: "anna", name: "Anna" },
      { id: "gard", name: "The Gardener" },
    ];
    const one = await linked({ agents, settings: { routes: [{ group: "gARDen", agent: "gard" }] } });
    const group = one.far.accounts.groups.get(GROUP);
    await one.far.say({ from: one.friend, group: group!, text: "how are the roses?" });
    await one.far.say({ from: one.stranger, group: group!, text: "and mine?" });
    await one.far.say({ from: one.friend, text: "and you?" });
    await until(() => accepted(one).length === 2);
    expect(accepted(one)).toMatchObject([
      { agent: "gard", chat: GROUP, sender: { id: one.friend.number }, facts: { chatTitle: "The Garden" } },
      { agent: "anna", chat: one.friend.number },
    ]);
    expect(one.context.events.published.filter(({ type }) => type === "message:dropped")).toHaveLength(1);
    await channelOf(one).send(out(one, "They *bloom*.", { agent: "gard", target: { channel: "phonemsg", chat: GROUP } }), signal);
    await channelOf(one).send(out(one, "from the service itself"), signal);
    expect(one.far.chats.shown.map(({ chat, text }) => [chat, text])).toEqual([
      [GROUP, "*The Gardener*\nThey *bloom*."],
      [one.friend.number, "from the service itself"],
    ]);
    await channelOf(one).react?.({ channel: "phonemsg", chat: GROUP }, accepted(one)[0]!.platformId!, "👀", signal);
    expect(one.far.chats.reactions).toMatchObject([{ chat: GROUP, emoji: "👀", participant: one.friend.address }]);
  });

  it("CHAN-04 a message of a group that the number was taken out of holds up nobody behind it", async () => {
    const agents = [
      { id: "anna", name: "Anna" },
      { id: "gard", name: "The Gardener" },
    ];
    const one = await linked({ agents, settings: { routes: [{ group: "garden", agent: "gard" }] } });
    const group = one.far.accounts.groups.get(GROUP);
    one.far.accounts.groups.delete(GROUP);
    await one.far.say({ from: one.friend, group: group!, text: "goodbye" });
    await one.far.say({ from: one.friend, text: "and you?" });
    await until(() => accepted(one).length === 2);
    expect(accepted(one).map(({ agent, text }) => [agent, text])).toEqual([
      ["anna", "goodbye"],
      ["anna", "and you?"],
    ]);
  });

  it("CHAN-07 phonemsg richMessages: false sends plain words only, with the name in front on a shared number", async () => {
    const settings = { richMessages: false } as never;
    const agents = [
      { id: "anna", name: "Anna", settings },
      { id: "gard", name: "The Gardener" },
    ];
    const one = await linked({ agents, settings: { routes: [{ group: "garden", agent: "gard" }] } });
    for (const agent of ["anna", "gard"]) await channelOf(one).send(out(one, "a *bold* word", { plain: "a bold word", agent, key: agent }), signal);
    const { platformId = "" } = await channelOf(one).send(out(one, "*a*", { plain: "a", agent: "anna", key: "grows" }), signal);
    await channelOf(one).edit!(platformId, out(one, "*a b*", { plain: "a b", agent: "anna", key: "grows" }), signal);
    expect(one.far.chats.shown.map(({ text }) => text)).toEqual(["Anna:\na bold word", "*The Gardener*\na *bold* word", "Anna:\na b"]);
  });

  it("a picture comes in and goes out, byte for byte", async () => {
    const one = await linked();
    const picture = new Uint8Array(70_000).map((_, n) => (n * 7) % 253);
    await one.far.say({ from: one.friend, message: { imageMessage: { ...(await one.far.files.put(picture, "image", "image/png")), caption: "look" } } });
    await until(() => accepted(one).length === 1);
    const [media] = accepted(one)[0]!.media!;
    expect(media).toMatchObject({ kind: "image", type: "image/png", size: 70_000 });
    expect([...(await channelOf(one).fetchMedia!(media!, signal)).data]).toEqual([...picture]);
    await channelOf(one).send(out(one, "", { key: "picture", media: [{ kind: "image", type: "image/png", data: picture }] }), signal);
    const shown = one.far.chats.shown.at(-1)!;
    expect([shown.kind, [...(shown.file ?? [])]]).toEqual(["image", [...picture]]);
  });

  it("a file that is not what its sender sealed is refused for good", async () => {
    const one = await linked();
    const described = await one.far.files.put(new Uint8Array(100), "document", "application/pdf");
    await one.far.say({ from: one.friend, message: { documentMessage: { ...described, mediaKey: Buffer.alloc(32) } } });
    await until(() => accepted(one).length === 1);
    await expect(channelOf(one).fetchMedia!(accepted(one)[0]!.media![0]!, signal)).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("sealed"),
    });
  });

  it("an answer that grows is one message; an edit of one that is too old is not tried", async () => {
    const one = await linked();
    const { platformId = "" } = await channelOf(one).send(out(one, "Once"), signal);
    for (const text of ["Once upon", "Once upon a time"]) await channelOf(one).edit!(platformId, out(one, text), signal);
    expect(one.far.chats.shown.map(({ texts }) => texts)).toEqual([["Once", "Once upon", "Once upon a time"]]);
    const sent = one.context.store.collection<{ at: number }>("sent");
    const row = (await sent.get(platformId))!.value;
    await sent.put(platformId, { ...row, at: row.at - 15 * 60_000 });
    const before = one.far.writes;
    await expect(channelOf(one).edit!(platformId, out(one, "too late"), signal)).rejects.toMatchObject({ failure: "permanent" });
    expect(one.far.writes).toBe(before);
  });

  it("a device that has forgotten the session of a conversation shows what comes next", async () => {
    const one = await linked();
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => accepted(one).length === 1);
    await channelOf(one).send(out(one, "first"), signal);
    await one.friend.device.forget(`${one.far.own.number}:${one.far.own.device}@s.whatsapp.net`);
    await channelOf(one).send(out(one, "second"), signal);
    await until(() => one.far.chats.shown.length === 2);
    expect(one.far.chats.shown.map(({ text }) => text)).toEqual(["first", "second"]);
  });

  it("a message that comes under an older session leaves the one that we write under as it is", async () => {
    const one = await linked();
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => accepted(one).length === 1);
    await channelOf(one).send(out(one, "hello yourself"), signal);
    await one.halfStop();
    await one.start();
    // A session of ours has been made, and the other side has not heard of it.
    one.far.fault = () => ({ error: "503" });
    await expect(channelOf(one).send(out(one, "first"), signal)).rejects.toMatchObject({ failure: "retry" });
    one.far.fault = undefined;
    await one.far.say({ from: one.friend, text: "are you there?" });
    await until(() => accepted(one).length === 1);
    await channelOf(one).send(out(one, "first"), signal);
    await channelOf(one).send(out(one, "second"), signal);
    expect(one.far.chats.shown.map(({ text }) => text)).toEqual(["hello yourself", "first", "second"]);
    expect(one.far.unopened).toEqual([]);
  });

  it("what a phone could not open it asks for again, and gets over a restart, an edited message with its newest text", async () => {
    const one = await linked();
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => accepted(one).length === 1);
    const { platformId = "" } = await channelOf(one).send(out(one, "Once"), signal);
    const group = { channel: "phonemsg", chat: GROUP };
    await channelOf(one).send(out(one, "to all", { target: group }), signal);
    one.far.holdsReceipts = true;
    const lose = () => one.friend.device.forget(`${one.far.own.number}:${one.far.own.device}@s.whatsapp.net`);
    await lose();
    await channelOf(one).edit!(platformId, out(one, "Once upon"), signal);
    await channelOf(one).edit!(platformId, out(one, "Once upon a time"), signal);
    await channelOf(one).send(out(one, "second"), signal);
    expect(one.far.chats.shown.map(({ text }) => text)).toEqual(["Once", "to all"]);
    expect(one.far.receipts.size).toBe(3);
    one.far.holdsReceipts = false;
    await one.halfStop();
    await one.start();
    await until(() => one.far.receipts.size === 0 && one.far.chats.shown.length === 3);
    await until(() => one.far.chats.shown[0]?.text === "Once upon a time");
    expect(one.far.chats.shown.map(({ text }) => text)).toEqual(["Once upon a time", "to all", "second"]);
    expect(one.far.unreadable).toEqual([]);
  });

  it("an answer leaves only when it is kept for those who ask for it again, and not at all while it cannot be", async () => {
    const store = createMemoryStore();
    const gate: { closed: boolean; open?: () => void; refuse?: (error: Error) => void } = { closed: false };
    const { collection } = store;
    Object.assign(store, {
      collection(name: string, options: never) {
        const rows = collection.call(store, name, options);
        if (name !== "sent") return rows;
        const put = async (...row: [never, never]) => {
          if (gate.closed) await new Promise<void>((resolve, reject) => Object.assign(gate, { open: resolve, refuse: reject }));
          return rows.put(...row);
        };
        return { ...rows, put };
      },
    });
    const one = await linked({ store });
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => accepted(one).length === 1);
    await channelOf(one).send(out(one, "the first one makes the sessions"), signal);
    const { writes } = one.far;
    gate.closed = true;
    const keys = () => statSync(join(one.folder, "session", "session.journal")).size;
    for (const [n, end] of ([() => gate.refuse?.(new Error("the disk is full")), () => gate.open?.()] as const).entries()) {
      await until(() => one.far.waiting.length === 0);
      const before = keys();
      const sending = channelOf(one).send(out(one, "answer"), signal);
      sending.catch(() => {});
      // It is sealed; what comes in now is acknowledged behind it.
      await until(() => keys() > before);
      await one.far.say({ from: one.friend, text: `meanwhile ${n}` });
      await until(() => accepted(one).length === 2 + n && one.far.waiting.length === 0);
      expect(one.far.writes).toBe(writes);
      end();
      if (n === 0) await expect(sending).rejects.toThrow("the disk is full");
      else await sending;
    }
    expect(one.far.chats.shown.map(({ text }) => text)).toEqual(["the first one makes the sessions", "answer"]);
  });

  it("a member of a group that has lost the group's key, and the owner's own phone, get what they could not open", async () => {
    const one = await linked();
    const group = { channel: "phonemsg", chat: GROUP };
    await channelOf(one).send(out(one, "first", { target: group }), signal);
    await one.friend.device.forgetGroup(GROUP);
    await one.stranger.device.forgetGroup(GROUP);
    await channelOf(one).send(out(one, "second", { target: group }), signal);
    await until(() => one.far.unopened.length > 0 && one.far.receipts.size === 0 && one.far.chats.shown.length === 2);
    await one.far.forgetOwn();
    await channelOf(one).send(out(one, "third"), signal);
    await until(() => one.far.unopened.length > 2 && one.far.receipts.size === 0);
    await channelOf(one).send(out(one, "fourth"), signal);
    expect(one.far.chats.shown.map(({ text }) => text)).toEqual(["first", "second", "third", "fourth"]);
    expect([one.far.unreadable, one.far.unopened.length]).toEqual([[], 3]);
  });

  it("FAULT-03 while the disk takes no keys nothing is acknowledged, the channel says why, and it goes on by itself", async () => {
    const one = await linked();
    const { tasks } = one.context;
    const { accept } = tasks;
    let full = true;
    Object.assign(tasks, {
      accept: async (message: never) => {
        if (full) throw Object.assign(new Error("ENOSPC"), { code: "SVC_STORE_FULL", status: 507 });
        return accept(message);
      },
    });
    await one.far.say({ from: one.friend, text: "keep me" });
    await until(() => one.context.logged.some((line) => JSON.stringify(line).includes("not acknowledged")));
    expect([accepted(one).length, one.far.waiting.length, one.far.nacks.length]).toEqual([0, 1, 0]);
    full = false;
    await until(() => accepted(one).length === 1 && one.far.waiting.length === 0);
  });

  it("says that it hears nobody, once, and hears nobody", async () => {
    const one = await linked({ settings: { allowFrom: [] } });
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => one.context.events.published.some(({ type }) => type === "message:dropped"));
    expect(accepted(one)).toEqual([]);
    expect(JSON.stringify(one.context.registered.channels[0])).toContain("hears nobody");
  });

  it("a channel that logs: no key, no text, no number of the protocol library", async () => {
    const one = await linked();
    await one.far.say({ from: one.friend, text: "canary-in-a-message" });
    await until(() => accepted(one).length === 1);
    await channelOf(one).send(out(one, "canary-in-an-answer"), signal);
    const logged = JSON.stringify([one.context.logged, one.context.events.published]);
    expect(logged).not.toMatch(/canary|noiseKey|privKey|session_|advSecret/i);
  });
});
