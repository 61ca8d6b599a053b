import { afterAll, afterEach, describe, expect, it } from "vitest";
import { until } from "../contract/phonemsg.harness.ts";
import type { Person } from "../kit/phonemsg/accounts.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { type PhoneDaemon, type PhoneSet, preparePhone } from "./phonemsg.harness.ts";

/** Kills, as many as SVC_SOAK says: the whole promise is 50. */
const KILLS = Math.min(200, Number(process.env.SVC_SOAK ?? 2));
const A_KILL = 8;

/** Linked once: a device makes hundreds of keys. After a failure there is a new one. */
let set: PhoneSet | undefined;
let tests = 0;
const close = async () => {
  await set?.close();
  set = undefined;
};
afterEach(({ task }) => (task.result?.state === "fail" ? close() : set?.rest()));
afterAll(close);

/** The same faults at every run. */
function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** Starts daemons of one folder, the test's own, one after the other; their errors are gathered. `shown`: what people see in this test. */
async function prepare(local?: object) {
  set ??= await preparePhone();
  tests += 1;
  const { server, people, start } = set;
  server.doubles = false;
  server.fault = undefined;
  const before = server.chats.shown.length;
  const name = `test-${tests}`;
  const daemons: PhoneDaemon[] = [];
  return {
    server,
    people,
    shown: () => server.chats.shown.slice(before),
    start: async () => void daemons.push(await start(name, {}, local)),
    kill: async () => daemons.at(-1)?.kill(),
    errors: () => daemons.map((daemon) => daemon.said()).join(""),
  };
}

/** Waits as long as answers come in; thirty seconds without one are the end. */
async function settle(missing: () => readonly string[]): Promise<void> {
  for (let before = -1; missing().length > 0 && missing().length !== before; ) {
    before = missing().length;
    for (let patience = 0; patience < 400 && missing().length === before; patience += 1) await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe.skipIf(lacking)("phonemsg", () => {
  it(`FAULT-01 FAULT-02 FAULT-05 ${KILLS} kills between messages, and a platform that doubles, throttles and drops: each is answered once, in order`, {
    timeout: 60_000 + KILLS * 15_000,
  }, async () => {
    const dice = createDice(11);
    const { server, people, shown, start, kill, errors } = await prepare();
    server.doubles = true;
    let cuts = 0;
    server.fault = () => {
      const roll = dice();
      if (roll < 0.03) return { error: "503" };
      if (roll < 0.05) return { error: "479" };
      if (roll >= 0.08) return undefined;
      cuts += 1;
      return "cut";
    };
    await start();
    const said = new Map<Person, string[]>(people.map((person) => [person, []]));
    const ids = new Map<string, string>();
    for (let round = 0; round < KILLS; round += 1) {
      for (let n = 0; n < A_KILL; n += 1) {
        const person = people[Math.floor(dice() * people.length)] as Person;
        const text = `message ${round}.${n} of ${person.name}`;
        said.get(person)?.push(text);
        ids.set(await server.say({ from: person, text }), text);
        if (dice() < 0.1) await server.repeat();
        // The same person under the other of the two ids.
        if (dice() < 0.1) person.hides = !person.hides;
        await new Promise((resolve) => setTimeout(resolve, dice() * 60));
      }
      await new Promise((resolve) => setTimeout(resolve, dice() * 400));
      await kill();
      await start();
    }
    const answers = (person: Person) =>
      shown()
        .filter(({ chat }) => chat === person.number)
        .map(({ text }) => text);
    const missing = () => people.flatMap((person) => (said.get(person) ?? []).filter((text) => !answers(person).includes(text)));
    await settle(missing);
    // A message may be refused that came again after it was kept and its key was spent: it is answered all the same.
    const lost = { missing: missing(), refused: server.refused, waiting: server.waiting.length, unreadable: server.unreadable };
    const nacked = [...ids]
      .filter(([id]) => server.nacks.some((nack) => nack.startsWith(id)))
      .map(([id, text]) => `${text} ${server.nacks.find((nack) => nack.startsWith(id))}`);
    expect(lost, `refused: ${nacked.join(", ")}; ${errors()}`).toEqual({ missing: [], refused: [], waiting: 0, unreadable: [] });
    expect(errors()).not.toMatch(/Session error|Closing session|privKey|rootKey|SessionEntry/);
    const reread = shown()
      .filter(({ id }) => server.unopened.includes(id))
      .map(({ text }) => text);
    for (const person of people) expect(answers(person), `${person.name}; sent again to be read: ${reread.join(", ")}; ${errors()}`).toEqual(said.get(person));
    console.info(
      `${KILLS * A_KILL} messages, ${KILLS} kills, ${cuts} cut connections: each is answered once; ${server.unopened.length} answers had to be sent again to be read`,
    );
  });

  it("20 messages that were sent while the daemon was down are answered once each, in order", { timeout: 120_000 }, async () => {
    const { server, people, shown, start } = await prepare();
    const person = people[0] as Person;
    const nacks = server.nacks.length;
    const texts = Array.from({ length: 20 }, (_, n) => `while you were away ${n}`);
    for (const text of texts) await server.say({ from: person, text });
    await start();
    const answers = () => shown().map(({ text }) => text);
    await until(() => answers().length >= 20, 60_000);
    await until(() => server.waiting.length === 0, 60_000);
    expect(answers()).toEqual(texts);
    expect(server.nacks.slice(nacks)).toEqual([]);
  });

  it("an answer of 30,000 characters with a table and code arrives whole, and grows while it is made", { timeout: 120_000 }, async () => {
    const { server, people, shown, start } = await prepare({ mode: "echo", delayMs: 4_000, chunks: 8 });
    const person = people[0] as Person;
    const tokens = Array.from({ length: 4_200 }, (_, n) => `w${String(n).padStart(5, "0")}`);
    const part = (from: number, to: number) => tokens.slice(from, to);
    const rows = Array.from({ length: 100 }, (_, n) => `| ${part(1_000 + 2 * n, 1_002 + 2 * n).join(" | ")} |`);
    const text = [
      part(0, 998).join(" "),
      "",
      `| ${part(998, 1_000).join(" | ")} |`,
      "|---|---|",
      ...rows,
      "",
      "```ts",
      ...part(1_200, 3_000),
      "```",
      "",
      part(3_000, 4_200).join(" "),
    ].join("\n");
    expect(text.length).toBeGreaterThan(29_000);
    await start();
    await server.say({ from: person, text });
    const found = () => shown().flatMap(({ text: words }) => words.match(/w\d{5}/g) ?? []);
    await until(() => found().length >= tokens.length, 90_000);
    expect(found()).toEqual(tokens);
    expect(shown().length).toBeGreaterThan(5);
    expect(shown().some(({ texts }) => texts.length > 1)).toBe(true);
    for (const { text: words } of shown()) expect((words.match(/```/g) ?? []).length % 2).toBe(0);
  });
});
