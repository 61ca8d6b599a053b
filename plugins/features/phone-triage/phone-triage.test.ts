import type { Claimed, QueueWork } from "@svc/sdk";
import { createFakeContext, createMemoryFiles, createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { Batches } from "./batches.ts";
import { canonicalId } from "./chat-id.ts";
import plugin from "./index.ts";
import { quietUntil } from "./quiet-hours.ts";
import { ruleFor } from "./rules.ts";
import { checkTriage, type TriageRule, type TriageSettings } from "./settings.ts";
import { readSynced } from "./synced-message.ts";
import { Triage } from "./triage.ts";
import { MESSAGES, WORK, type Work } from "./triage-work.ts";

describe("PHN-06 rules", () => {
  const rule = (more: Partial<TriageRule>): TriageRule => ({ id: "r", enabled: true, agent: "a", autoAck: false, ...more });
  const ALICE = { chat: "491511234567@s.whatsapp.net", sender: "491511234567:12@s.whatsapp.net" };
  const GROUP = { chat: "120363@g.us", sender: "491511234567@s.whatsapp.net" };

  it("one spelling for a number, however it is written", () => {
    const spellings = [
      "+49 151 1234567",
      "0049-151-1234567",
      "49(151)1234567",
      "491511234567@s.whatsapp.net",
      "491511234567:3@s.whatsapp.net",
      "491511234567@c.us",
    ];
    for (const spelling of spellings) expect(canonicalId(spelling), spelling).toBe("491511234567");
    expect(canonicalId("120363@G.US")).toBe("120363@g.us");
    expect(canonicalId("99887766:4@lid")).toBe("99887766@lid");
  });

  it("the first enabled match wins; chats and senders of one rule must both match", () => {
    const cases: readonly (readonly [string, readonly TriageRule[], typeof ALICE, string | undefined])[] = [
      ["no rule", [], ALICE, undefined],
      ["a chat", [rule({ chats: ["+491511234567"] })], ALICE, "r"],
      ["a sender in a group", [rule({ senders: ["+491511234567"] })], GROUP, "r"],
      ["chat and sender", [rule({ chats: ["120363@g.us"], senders: ["491511234567"] })], GROUP, "r"],
      ["the chat alone of both", [rule({ chats: ["120363@g.us"], senders: ["491500000000"] })], GROUP, undefined],
      ["the sender alone of both", [rule({ chats: ["999@g.us"], senders: ["491511234567"] })], GROUP, undefined],
      ["neither list", [rule({})], ALICE, undefined],
      ["a disabled one first", [rule({ id: "off", enabled: false, chats: ["491511234567"] }), rule({ chats: ["491511234567"] })], ALICE, "r"],
      ["the first of two", [rule({ id: "first", chats: ["491511234567"] }), rule({ chats: ["491511234567"] })], ALICE, "first"],
      ["a part of a number", [rule({ chats: ["49151123456"] })], ALICE, undefined],
    ];
    for (const [name, rules, origin, expected] of cases) expect(ruleFor(rules, origin)?.id, name).toBe(expected);
  });
});

describe("PHN-07 quiet hours", () => {
  const NIGHT = { start: "22:00", end: "07:00" };
  const at = (iso: string) => Date.parse(iso);
  const end = (hours: typeof NIGHT, zone: string, iso: string) => {
    const ms = quietUntil(hours, zone, at(iso));
    return ms === undefined ? undefined : new Date(ms).toISOString();
  };

  it("cross midnight: 22:00 to 07:00 covers 23:30 and 06:59, not 07:00 and 21:59", () => {
    expect(end(NIGHT, "UTC", "2026-03-01T21:59:59Z")).toBeUndefined();
    expect(end(NIGHT, "UTC", "2026-03-01T22:00:00Z")).toBe("2026-03-02T07:00:00.000Z");
    expect(end(NIGHT, "UTC", "2026-03-01T23:30:00Z")).toBe("2026-03-02T07:00:00.000Z");
    expect(end(NIGHT, "UTC", "2026-03-02T06:59:59Z")).toBe("2026-03-02T07:00:00.000Z");
    expect(end(NIGHT, "UTC", "2026-03-02T07:00:00Z")).toBeUndefined();
    expect(end({ start: "12:00", end: "14:00" }, "UTC", "2026-03-02T13:00:00Z")).toBe("2026-03-02T14:00:00.000Z");
    expect(end({ start: "12:00", end: "12:00" }, "UTC", "2026-03-02T12:00:00Z")).toBeUndefined();
    expect(quietUntil(undefined, "UTC", at("2026-03-02T13:00:00Z"))).toBeUndefined();
  });

  it("follow the wall clock of the zone over both changes of clocks", () => {
    // Berlin: 2026-03-29 02:00 becomes 03:00, 2026-10-25 03:00 becomes 02:00.
    expect(end(NIGHT, "Europe/Berlin", "2026-03-28T22:00:00Z")).toBe("2026-03-29T05:00:00.000Z");
    expect(end(NIGHT, "Europe/Berlin", "2026-10-24T21:00:00Z")).toBe("2026-10-25T06:00:00.000Z");
    expect(end({ start: "02:15", end: "02:45" }, "Europe/Berlin", "2026-10-25T00:20:00Z")).toBe("2026-10-25T00:45:00.000Z");
    expect(end({ start: "02:15", end: "02:45" }, "Europe/Berlin", "2026-10-25T01:20:00Z")).toBe("2026-10-25T01:45:00.000Z");
    expect(end({ start: "01:30", end: "02:30" }, "Europe/Berlin", "2026-03-29T00:45:00Z")).toBe("2026-03-29T01:00:00.000Z");
    expect(end(NIGHT, "Asia/Kathmandu", "2026-03-28T22:00:00Z")).toBe("2026-03-29T01:15:00.000Z");
  });
});

it("CFG-14 a rule has a chat or a sender; other mistakes are named where they stand", () => {
  const settings = (more: object): TriageSettings => ({
    ...{ enabled: true, secretEnv: "S", batchSeconds: 20, allowAutoAck: false, describeMedia: true, wacli: { bin: "wacli" }, rules: [] },
    ...more,
  });
  const rule = { id: "r", enabled: true, agent: "a", autoAck: false };
  const problems = (more: object) => checkTriage(settings(more), { agents: ["a"] }).map(({ path, severity = "warning" }) => `${severity} ${path}`);
  expect(problems({ rules: [{ ...rule, chats: ["+491511234567"] }] })).toEqual([]);
  expect(problems({ rules: [{ ...rule, chats: [], senders: [] }] })).toEqual(["error rules[0]"]);
  expect(problems({ rules: [{ ...rule, chats: ["Alice"], agent: "b", autoAck: true }] })).toEqual([
    "warning rules[0].chats[0]",
    "warning rules[0].agent",
    "warning rules[0].autoAck",
  ]);
  const twice = { ...rule, senders: ["120363@g.us"] };
  expect(problems({ rules: [twice, twice] })).toEqual(["error rules[1].id"]);
  expect(problems({ timezone: "Europe/Atlantis", wacli: { bin: "w", account: "a", store: "/s" }, secretEnv: "not a name" })).toEqual([
    "error timezone",
    "error wacli.store",
    "warning secretEnv",
  ]);
});

it("reads what the sync tool posts, and nothing else", () => {
  const read = (body: object) => readSynced(new TextEncoder().encode(JSON.stringify({ Chat: "49151@s.whatsapp.net", ID: "1", ...body })));
  expect(read({ SenderJID: "49152@s.whatsapp.net", Timestamp: "2026-07-25T10:00:00Z", Text: "hi", PushName: " A\nlice ", ChatName: "" })).toEqual({
    message: {
      id: "1",
      chat: "49151@s.whatsapp.net",
      sender: "49152@s.whatsapp.net",
      at: Date.parse("2026-07-25T10:00:00Z"),
      text: "hi",
      senderName: "A lice",
    },
  });
  expect(read({ Media: { Type: "ptt", FileLength: 9 } })).toMatchObject({ message: { media: { kind: "audio", bytes: 9 }, text: "" } });
  expect(read({ Location: { Latitude: 1, Longitude: 2, Name: "Inn" } })).toMatchObject({ message: { text: "[place: Inn; 1, 2]" } });
  expect(read({ Poll: { Question: "When?", Options: ["Mon", "Tue"] } })).toMatchObject({ message: { text: "[poll: When?: Mon / Tue]" } });
  expect(read({ EventType: "receipt" })).toEqual({ ignored: "it is a receipt event" });
});

it("PHN-06 a batch that cannot be handed to an agent is given up, and nothing that was said in it stays", async () => {
  const rule: TriageRule = { id: "r", enabled: true, agent: "a", autoAck: false, chats: ["49151"] };
  const store = createMemoryStore();
  const queue = store.queue<Work>(WORK);
  const files = createMemoryFiles();
  let step: (item: Claimed<Work>, signal: AbortSignal) => unknown = () => {};
  const work = (handler: typeof step): QueueWork => {
    step = handler;
    return { wake: () => {}, stop: async () => {} };
  };
  const tasks = { accept: () => Promise.reject(new Error("EACCES: permission denied")) };
  const { log, services } = createFakeContext(plugin as never);
  const held = { collection: store.collection.bind(store), commit: store.commit.bind(store), queue: () => ({ ...queue, work }) };
  const settings = { describeMedia: false, batchSeconds: 0, rules: [rule], wacli: { bin: "none" } } as unknown as TriageSettings;
  new Triage({ store: held, tasks, files, log, services } as never, () => settings).start();
  await new Batches(store).add(rule, { id: "1", chat: "49151@s.whatsapp.net", sender: "x", at: 0, text: "a secret" }, 0);
  for (let attempt = 1; attempt <= 12; attempt += 1) {
    const [item] = (await queue.claim(1, 60_000)) as [Claimed<Work>];
    await files.own.write(`media/${item.value.batch}-0`, "a picture");
    await Promise.resolve(step(item, new AbortController().signal)).catch(() => queue.release(item.id, 0));
  }
  expect((await queue.list()).map(({ value }) => value)).toMatchObject([{ step: "tell", text: expect.stringContaining("could not be sorted") }]);
  expect(await store.collection(MESSAGES).count()).toBe(0);
  expect(await files.own.list("media").catch(() => [])).toEqual([]);
});
