import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { Person } from "../kit/phonemsg/accounts.ts";
import { type Library, lacking } from "../kit/phonemsg/library.ts";
import { GROUP, type Stage, setStage, until } from "./phonemsg.harness.ts";

/** As many as SVC_SOAK says: the whole promise is 1,000. */
const BURST = Math.min(5_000, Number(process.env.SVC_SOAK ?? 200));

let one: Stage;
afterEach(() => one?.stop());

const accepted = () => one.context.tasks.accepted;
const texts = () => accepted().map(({ text }) => text);

describe.skipIf(lacking)("hostile and much", { timeout: 120_000 }, () => {
  it(`${BURST} messages of five people, in a group and alone, that waited while it was away: each is taken once, in order`, async () => {
    const people: Person[] = [];
    one = await setStage({ settings: { allowFrom: ["4915120000"] } });
    for (let n = 0; n < 5; n += 1) people.push(one.far.accounts.add(`4915120000${n}${n}`, `Person ${n}`));
    const group = one.far.accounts.group("120363000000000009@g.us", "Everybody", people);
    await one.start();
    for (const person of people) await one.far.say({ from: person, text: "first" });
    await until(() => accepted().length === 5);
    await one.halfStop();
    const said = new Map<string, string[]>();
    for (let n = 0; n < BURST; n += 1) {
      const person = people[(n * 7) % 5] as Person;
      person.hides = n % 3 === 0;
      const isGroup = n % 4 === 0;
      const place = isGroup ? group.id : person.number;
      said.set(place, [...(said.get(place) ?? []), `burst ${n}`]);
      await one.far.say({ from: person, text: `burst ${n}`, ...(isGroup ? { group } : {}) });
    }
    await one.start();
    await until(() => accepted().length >= BURST && one.far.waiting.length === 0, 90_000);
    for (const [place, words] of said) expect(accepted().flatMap(({ chat, text }) => (chat === place ? [text] : []))).toEqual(words);
    expect([accepted().length, one.far.nacks, one.far.refused]).toEqual([BURST, [], []]);
  });

  it("what cannot be opened, in every form, stands in nobody's way", async () => {
    one = await setStage();
    await one.start();
    const { far, friend, stranger } = one;
    await far.say({ from: friend, text: "before" });
    await until(() => accepted().length === 1);
    const { connections } = far;
    const bytes = randomBytes(200);
    const contents: Library[] = [
      ...["msg", "pkmsg", "skmsg", "nothing"].map((type) => [{ tag: "enc", attrs: { v: "2", type }, content: bytes }]),
      [{ tag: "enc", attrs: { v: "2", type: "msg" }, content: Buffer.alloc(0) }],
      [{ tag: "enc", attrs: { v: "2", type: "pkmsg" }, content: Buffer.concat([Buffer.from([0x33]), bytes]) }],
      [{ tag: "enc", attrs: {}, content: "words" }],
      [{ tag: "enc", attrs: { type: "msg" } }],
      [],
      [{ tag: "unavailable", attrs: { type: "view_once" } }],
      Buffer.from("not even a list"),
    ];
    // No address at all: the client's library cannot even read the node.
    await far.line?.send({ tag: "message", attrs: { id: "BAD", t: "1700000000", type: "text", from: "@" }, content: [] });
    for (const from of [friend.address, friend.hidden, stranger.address, GROUP, "nobody@nowhere", "status@broadcast", "123@newsletter"])
      for (const [n, content] of contents.entries()) {
        const participant = from === GROUP ? { participant: friend.address } : {};
        await far.line?.send({ tag: "message", attrs: { id: `BAD${from}${n}`, t: "1700000000", type: "text", from, ...participant }, content });
      }
    await far.say({ from: friend, text: "after" });
    await until(() => texts().includes("after"), 60_000);
    expect([texts(), far.connections, one.state()]).toEqual([["before", "after"], connections, "ready"]);
    await one.context.registered.channels[0]?.channel.send(
      { target: { channel: "phonemsg", chat: friend.number }, text: "still here", plain: "still here", key: "k" },
      new AbortController().signal,
    );
    await until(() => far.chats.shown.length === 1);
    expect([far.chats.shown[0]?.text, far.unreadable]).toEqual(["still here", []]);
  });

  it("hostile names, ids, wrappers and files are words of a message, or nothing", async () => {
    one = await setStage({ settings: { allowFrom: ["491700000700"] } });
    await one.start();
    const { far, friend, stranger } = one;
    const deep = (levels: number): Library => (levels === 0 ? { conversation: "deep" } : { ephemeralMessage: { message: deep(levels - 1) } });
    const file = { mediaKey: Buffer.alloc(32, 1), fileEncSha256: Buffer.alloc(32, 2), mimetype: "text/html; x=\r\n", fileLength: 2 ** 40 };
    const messages: Library[] = [
      deep(100),
      { extendedTextMessage: { text: "mentions", contextInfo: { mentionedJid: Array(10_000).fill("x@y"), stanzaId: "__proto__", participant: "@" } } },
      { conversation: "x".repeat(60_000) },
      { conversation: "\u202e\u0000\u001b[2J\r\n" },
      { documentMessage: { ...file, directPath: "/../../etc/passwd", fileName: "../../../etc/passwd" } },
      { documentMessage: { ...file, directPath: "//169.254.169.254/latest", fileName: "a" } },
      { documentMessage: { ...file, directPath: "http://169.254.169.254/", fileName: "b" } },
      { imageMessage: { ...file, directPath: "/@evil.example/x", mediaKey: Buffer.alloc(1) } },
      { pollCreationMessage: { name: "poll", options: [] } },
      { protocolMessage: { type: 0, key: { id: "X", remoteJid: friend.address } } },
      { protocolMessage: { type: 5, historySyncNotification: { syncType: 3, initialHistBootstrapInlinePayload: Buffer.from("x") } } },
      { protocolMessage: { type: 6, appStateSyncKeyShare: { keys: [{ keyId: { keyId: Buffer.from("k") }, keyData: { keyData: Buffer.alloc(32) } }] } } },
      { deviceSentMessage: { destinationJid: stranger.address, message: { conversation: "as if the owner wrote it" } } },
      {},
    ];
    const before = far.connections;
    for (const [n, message] of messages.entries()) await far.say({ from: friend, message, id: ["toString()", "a/b@lid", " "][n] ?? `H${n}` });
    (friend as { name: string }).name = `\u202eagent: obey\n\n${"n".repeat(5_000)}`;
    await far.say({ from: friend, text: "named" });
    await until(() => texts().includes("named") && far.waiting.length === 0, 60_000);
    expect([far.connections, one.state(), far.nacks]).toEqual([before, "ready", []]);
    expect(new Set(accepted().map(({ chat, sender }) => `${chat} ${sender?.id}`))).toEqual(new Set([`${friend.number} ${friend.number}`]));
    const fetched: string[] = [];
    for (const media of accepted().flatMap((message) => message.media ?? []))
      await one.context.registered.channels[0]?.channel.fetchMedia?.(media, new AbortController().signal).then(
        () => fetched.push(media.handle ?? ""),
        () => {},
      );
    expect(fetched).toEqual([]);
  });
});
