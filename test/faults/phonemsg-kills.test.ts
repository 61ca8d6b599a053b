import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { setStage, until } from "../contract/phonemsg.harness.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import type { Person } from "../kit/phonemsg/accounts.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import type { PhoneServer } from "../kit/phonemsg/server.ts";

/** Kills, as many as SVC_SOAK says: the whole promise is 50. */
const KILLS = Math.min(200, Number(process.env.SVC_SOAK ?? 2));
const PEOPLE = 5;
const A_KILL = 8;

let daemon: ChildProcess | undefined;
let far: PhoneServer | undefined;
let errors = "";
afterEach(async () => {
  await kill();
  await far?.close();
});

const kill = () =>
  new Promise<void>((resolve) => {
    if (daemon === undefined || daemon.exitCode !== null || daemon.signalCode !== null) return resolve();
    daemon.removeAllListeners("exit");
    daemon.once("exit", () => resolve());
    daemon.kill("SIGKILL");
  });

/** The same faults at every run. */
function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** A folder with a linked phone and the configuration of a daemon, and the far end that knows it. */
async function prepare(local: object = { mode: "echo", delayMs: 5 }): Promise<{ server: PhoneServer; people: Person[]; start(): Promise<void> }> {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, ".svc"), { mode: 0o700 });
  const stage = await setStage({ folder, settings: { sessionDir: "session" } });
  await stage.start();
  await stage.halfStop();
  const server = stage.far;
  far = server;
  const people = Array.from({ length: PEOPLE }, (_, n) => server.accounts.add(`4915110000${n}${n}`, `Person ${n}`));
  for (const [n, person] of people.entries()) person.hides = n % 2 === 1;
  const config = join(folder, "svc.json");
  const settings = {
    node: { id: "n1", name: "Node 1", bind: "127.0.0.1:0" },
    agents: { a: { name: "A", workspace: join(folder, "w"), tier: "local", maxConcurrent: 8, queueMode: "followup", local } },
    resume: { maxAttempts: 1_000, crashLoop: { restarts: 10_000, windowMinutes: 1 } },
    channels: {
      phonemsg: {
        enabled: true,
        server: server.url,
        mediaServer: server.mediaUrl,
        sessionDir: "session",
        defaultAgent: "a",
        acknowledge: "",
        allowFrom: people.map(({ number }) => number),
      },
    },
  };
  writeFileSync(config, JSON.stringify(settings), { mode: 0o600 });
  errors = "";
  const start = () =>
    new Promise<void>((resolve, reject) => {
      daemon = fork(join(import.meta.dirname, "phonemsg-daemon.mjs"), [config], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
      daemon.stderr?.on("data", (chunk) => (errors += chunk));
      daemon.once("message", () => resolve());
      daemon.once("exit", (code) => reject(new Error(`the daemon ended with ${code} before it was ready:\n${errors}`)));
    });
  return { server, people, start };
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
    const { server, people, start } = await prepare();
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
        const person = people[Math.floor(dice() * PEOPLE)] as Person;
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
    const answers = (person: Person) => server.chats.shown.filter(({ chat }) => chat === person.number).map(({ text }) => text);
    const missing = () => people.flatMap((person) => (said.get(person) ?? []).filter((text) => !answers(person).includes(text)));
    await settle(missing);
    // A message may be refused that came again after it was kept and its key was spent: it is answered all the same.
    const lost = { missing: missing(), refused: server.refused, waiting: server.waiting.length, unreadable: server.unreadable };
    const nacked = [...ids]
      .filter(([id]) => server.nacks.some((nack) => nack.startsWith(id)))
      .map(([id, text]) => `${text} ${server.nacks.find((nack) => nack.startsWith(id))}`);
    expect(lost, `refused: ${nacked.join(", ")}; ${errors}`).toEqual({ missing: [], refused: [], waiting: 0, unreadable: [] });
    expect(errors).not.toMatch(/Session error|Closing session|privKey|rootKey|SessionEntry/);
    const reread = server.chats.shown.filter(({ id }) => server.unopened.includes(id)).map(({ text }) => text);
    for (const person of people) expect(answers(person), `${person.name}; sent again to be read: ${reread.join(", ")}; ${errors}`).toEqual(said.get(person));
    console.info(
      `${KILLS * A_KILL} messages, ${KILLS} kills, ${cuts} cut connections: each is answered once; ${server.unopened.length} answers had to be sent again to be read`,
    );
  });

  it("20 messages that were sent while the daemon was down are answered once each, in order", { timeout: 120_000 }, async () => {
    const { server, people, start } = await prepare();
    const person = people[0] as Person;
    const texts = Array.from({ length: 20 }, (_, n) => `while you were away ${n}`);
    for (const text of texts) await server.say({ from: person, text });
    await start();
    const answers = () => server.chats.shown.map(({ text }) => text);
    await until(() => answers().length >= 20, 60_000);
    await until(() => server.waiting.length === 0, 60_000);
    expect(answers()).toEqual(texts);
    expect(server.nacks).toEqual([]);
  });

  it("an answer of 30,000 characters with a table and code arrives whole, and grows while it is made", { timeout: 120_000 }, async () => {
    const { server, people, start } = await prepare({ mode: "echo", delayMs: 4_000, chunks: 8 });
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
    const found = () => server.chats.shown.flatMap(({ text: words }) => words.match(/w\d{5}/g) ?? []);
    await until(() => found().length >= tokens.length, 90_000);
    expect(found()).toEqual(tokens);
    expect(server.chats.shown.length).toBeGreaterThan(5);
    expect(server.chats.shown.some(({ texts }) => texts.length > 1)).toBe(true);
    for (const { text: words } of server.chats.shown) expect((words.match(/```/g) ?? []).length % 2).toBe(0);
  });
});
