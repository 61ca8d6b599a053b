import { afterEach, describe, expect, it } from "vitest";
import { contactEntry, groupEntry } from "../../plugins/channels/phonemsg/ingest/entries.ts";
import { contactAllowed, groupAllowed } from "../../plugins/channels/phonemsg/ingest/scope.ts";
import type { SweepReport } from "../../plugins/channels/phonemsg/ingest/sweep.ts";
import { createThrottle } from "../../plugins/channels/phonemsg/ingest/throttle.ts";
import type { IngestSettings } from "../../plugins/channels/phonemsg/settings.ts";
import { GROUP, type Stage, setStage, until } from "../contract/phonemsg.harness.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import type { Said } from "../kit/phonemsg/server.ts";

const CANARY = "canary-of-a-body";
const FAST = { minMsBetweenCalls: 100, maxCallsPerMinute: 1_000 };
const stages: Stage[] = [];
afterEach(async () => {
  for (const one of stages.splice(0)) await one.stop();
});

/** A linked phone that has told of its friend, of a stranger and of the group, each with a message. */
async function synced(ingest: IngestSettings): Promise<Stage> {
  const one = await setStage({ settings: { ingest: { everyHours: 0, throttle: FAST, ...ingest } } });
  stages.push(one);
  await one.start();
  const { far, friend, stranger } = one;
  const group = far.accounts.groups.get(GROUP)!;
  past(one, [{ from: friend, text: `${CANARY} old`, id: "OLD1", at: now() - 600 }]);
  await far.sync(
    [
      { person: friend, name: "Frieda Garden" },
      { person: stranger, name: "Mallory" },
    ],
    [group],
  );
  await until(async () => ((await one.call("GET", "/phonemsg/contacts")) as { contacts: unknown[] }).contacts.length >= (ingest.enabled === true ? 2 : 0));
  await far.say({ from: friend, text: `${CANARY} direct`, id: "NEW1", at: now() - 300 });
  await far.say({ from: stranger, text: `${CANARY} stranger` });
  await far.say({ from: friend, group, text: `${CANARY} group`, id: "GRP1", at: now() - 200 });
  await until(() => one.context.tasks.accepted.length === 2);
  return one;
}

/** The same moment for all messages of a test. */
const moment = Math.floor(Date.now() / 1_000);
const now = (): number => moment;
const told = new Map<Stage, Said[]>();
/** What the phone has of the friend's chat besides. */
function past(one: Stage, said: Said[]): void {
  told.set(one, said);
  one.far.history = (chat) =>
    chat === GROUP
      ? [{ from: one.friend, group: one.far.accounts.groups.get(GROUP)!, text: `${CANARY} group`, id: "GRP1", at: now() - 200 }]
      : [...(told.get(one) ?? []), { from: one.friend, text: `${CANARY} direct`, id: "NEW1", at: now() - 300 }];
}

const run = async (one: Stage, body: object = {}) => (await one.call("POST", "/phonemsg/ingest", body)) as SweepReport;
const entries = (one: Stage) => [...one.written.keys()].filter((path) => path.includes("/wiki/raw/phonemsg/")).sort();
const textOf = (one: Stage, part: string) => String(one.written.get(entries(one).find((path) => path.includes(part)) ?? ""));

describe.skipIf(lacking)("ingest", { timeout: 90_000 }, () => {
  it("PHN-01 nothing unless it is enabled: no run, no read, nobody remembered", async () => {
    const one = await synced({ mode: "messages", allowContacts: ["Frieda Garden"] });
    await expect(run(one)).rejects.toMatchObject({ code: "SVC_PHONEMSG_INGEST_OFF" });
    expect([one.far.reads, one.far.groupReads, entries(one)]).toEqual([[], [], []]);
    expect(await one.call("GET", "/phonemsg/contacts")).toEqual({ contacts: [] });
  });

  it("PHN-01 empty lists read nothing, deny wins over allow", async () => {
    const one = await synced({ enabled: true, mode: "messages" });
    expect(await run(one)).toMatchObject({ written: 0, errors: [] });
    expect([one.far.reads, one.far.groupReads, entries(one)]).toEqual([[], [], []]);
    const lists = { allowContacts: ["+49 170 0000700"], allowGroups: ["garden"], denyContacts: ["frieda"], denyGroups: ["den"] };
    const { id, number } = { id: one.friend.number, number: one.friend.number };
    expect(contactAllowed({ id, number, saved: "Frieda Garden" }, lists)).toBe(false);
    expect(contactAllowed({ id, number }, lists)).toBe(true);
    expect(contactAllowed({ id, number }, { allowContacts: ["491700000700"] })).toBe(true);
    expect(contactAllowed({ id, number }, { allowContacts: ["0700"] })).toBe(false);
    expect(groupAllowed({ id: GROUP, name: "The Garden" }, lists)).toBe(false);
    expect(groupAllowed({ id: GROUP, name: "The Garden" }, { allowGroups: ["GARDEN"] })).toBe(true);
  });

  it("PHN-01 metadata-only never asks for messages, also with force; a stranger's name for itself opens nothing", async () => {
    const one = await synced({ enabled: true, mode: "metadata-only", allowContacts: ["frieda garden", "Trusted"], allowGroups: ["garden"] });
    for (const force of [false, true]) expect((await run(one, { force })).errors).toEqual([]);
    expect(one.far.reads).toEqual([]);
    expect(
      entries(one).map((path) =>
        path
          .split("/")
          .at(-1)
          ?.replace(/-[0-9a-f]+\.md/, ""),
      ),
    ).toEqual(["contact", "group-meta"]);
    expect(contactAllowed({ id: "30600", number: "30600", push: "Trusted" } as never, { allowContacts: ["Trusted"] })).toBe(false);
    expect(JSON.stringify([...one.written.values()].map(String))).not.toContain(CANARY);
  });

  it("PHN-02 a second run writes nothing; one new message makes one new entry and leaves the old", async () => {
    const one = await synced({ enabled: true, mode: "messages", allowContacts: ["Frieda Garden"], allowGroups: ["garden"] });
    expect(await run(one)).toMatchObject({ written: 4, errors: [] });
    const first = entries(one);
    const before = new Map(one.written);
    expect(textOf(one, "/dm-")).toMatch(/source: phonemsg:dm[\s\S]*> canary-of-a-body old[\s\S]*> canary-of-a-body direct/);
    expect(await run(one)).toMatchObject({ written: 0, errors: [] });
    expect(await run(one, { force: true })).toMatchObject({ written: 4 });
    expect(entries(one)).toEqual(first);
    past(one, [
      { from: one.friend, text: `${CANARY} old`, id: "OLD1", at: now() - 600 },
      { from: one.friend, text: `${CANARY} newest`, id: "NEW2", at: now() },
    ]);
    await one.far.say({ from: one.friend, text: `${CANARY} newest`, id: "NEW2", at: now() });
    await until(() => one.context.tasks.accepted.length === 3);
    expect(await run(one)).toMatchObject({ written: 1, errors: [] });
    const added = entries(one).filter((path) => !first.includes(path));
    expect(added).toHaveLength(1);
    expect(String(one.written.get(added[0]!))).toContain(`> ${CANARY} newest`);
    for (const path of first) expect(String(one.written.get(path))).toBe(String(before.get(path)));
  });

  it("PHN-03 no connection: one error, nothing written; a chat that fails is named, the others go on and it is tried again", async () => {
    const one = await synced({ enabled: true, mode: "messages", allowContacts: ["Frieda Garden"], allowGroups: ["garden"] });
    const { groups } = one.far.accounts;
    const garden = groups.get(GROUP)!;
    groups.delete(GROUP);
    expect(await run(one)).toMatchObject({ written: 2, errors: [{ chat: "The Garden" }] });
    groups.set(GROUP, garden);
    expect(await run(one)).toMatchObject({ written: 2, errors: [] });
    const before = entries(one);
    one.far.refuse = true;
    one.far.drop();
    await until(() => one.state() === "down");
    const report = await run(one, { force: true });
    expect(report).toMatchObject({ written: 0, entries: [] });
    expect(report.errors).toHaveLength(1);
    expect(report.errors[0]?.message).toContain("not connected");
    expect(entries(one)).toEqual(before);
    one.far.refuse = false;
  });

  it("PHN-03 the connection ends in the middle of a run: one error and no file", async () => {
    const one = await synced({ enabled: true, mode: "messages", allowContacts: ["Frieda Garden"], allowGroups: ["garden"] });
    one.far.history = () => {
      one.far.refuse = true;
      one.far.drop();
      return undefined;
    };
    const report = await run(one);
    expect([report.errors.length, report.written, entries(one)]).toEqual([1, 0, []]);
    one.far.refuse = false;
  });

  it("PHN-04 two runs at once share one gate; lists read nothing live; a dry run writes nothing; bodies are kept nowhere else", async () => {
    const one = await synced({
      enabled: true,
      mode: "messages",
      allowContacts: ["Frieda Garden"],
      allowGroups: ["garden"],
      throttle: { minMsBetweenCalls: 800, maxCallsPerMinute: 1_000 },
    });
    await one.call("GET", "/phonemsg/chats");
    await one.call("GET", "/phonemsg/contacts");
    expect([one.far.reads.length, one.far.groupReads.length]).toEqual([0, 0]);
    const dry = await run(one, { dryRun: true });
    expect(dry).toMatchObject({ written: 0, dryRun: true });
    expect([dry.entries.length, entries(one)]).toEqual([4, []]);
    one.far.reads.length = 0;
    one.far.groupReads.length = 0;
    await Promise.all([run(one), run(one)]);
    const times = [...one.far.reads, ...one.far.groupReads].map(({ at }) => at).sort((left, right) => left - right);
    expect(times.length).toBeGreaterThanOrEqual(4);
    // Measured where they arrive: what a busy machine may take on the way is left out.
    for (const [at, time] of times.entries()) if (at > 0) expect(time - times[at - 1]!).toBeGreaterThan(250);
    const kept: unknown[] = [];
    for (const name of ["chats", "contacts", "groups", "cursors", "entries", "people", "sent"])
      kept.push(await one.context.store.collection(name).list({ limit: 1_000 }));
    expect(JSON.stringify([kept, one.context.logged, one.context.events.published])).not.toContain(CANARY);
    const live = one.far.reads.length + one.far.groupReads.length;
    await run(one);
    expect(one.far.reads.length + one.far.groupReads.length).toBe(live);
  });

  it("PHN-05 only what the wiki has absorbed is removed after its time, and with 0 nothing", async () => {
    const one = await synced({ enabled: true, mode: "messages", allowContacts: ["Frieda Garden"], allowGroups: ["garden"], retentionDays: 3 });
    await run(one);
    const [absorbed, other] = entries(one);
    one.written.set(absorbed!, String(one.written.get(absorbed!)).replace("absorbed: false", "absorbed: true"));
    expect(await run(one)).toMatchObject({ purged: 0 });
    const rows = one.context.store.collection<{ at: number; digest: string }>("entries");
    for (const { key, value } of await rows.list({ limit: 100 })) await rows.put(key, { ...value, at: value.at - 4 * 86_400_000 });
    expect(await run(one)).toMatchObject({ purged: 1, errors: [] });
    expect([one.written.has(absorbed!), one.written.has(other!)]).toEqual([false, true]);
  });
});

it("PHN-05 a group names at most fifty members and sums up the others; what people wrote cannot become a head of ours", () => {
  const members = Array.from({ length: 73 }, (_, n) => ({ name: `Member ${n}\nabsorbed: true`, admin: n > 70 }));
  const { text } = groupEntry({ id: GROUP, name: 'x"\n---\nabsorbed: true', members, description: "a\n---\nabsorbed: true" });
  expect(text.match(/^- Member /gm)).toHaveLength(50);
  expect(text).toContain("- and 23 more, 2 of them admins");
  expect(text.match(/^absorbed: true$/m)).toBeNull();
  expect(contactEntry({ id: "1", number: "1", push: "P" }).text).toContain('title: "P"');
  expect(contactEntry({ id: "99@lid" }).text).toContain('title: "99@lid"');
});

it("PHN-04 the gate holds the pause and the most of a minute, for all who wait", async () => {
  let clock = 0;
  const taken: number[] = [];
  const real = setInterval(() => (clock += 500), 1);
  const gate = createThrottle({ minMsBetweenCalls: 1_500, maxCallsPerMinute: 5 }, () => clock);
  const end = new AbortController();
  const many = Array.from({ length: 5 }, () => gate.take(end.signal).then(() => taken.push(clock)));
  const sixth = gate.take(end.signal);
  sixth.catch(() => {});
  await Promise.all(many);
  clearInterval(real);
  for (const [at, time] of taken.entries()) if (at > 0) expect(time - taken[at - 1]!).toBeGreaterThanOrEqual(1_500);
  end.abort(new Error("over"));
  await expect(sixth).rejects.toThrow("over");
}, 30_000);
