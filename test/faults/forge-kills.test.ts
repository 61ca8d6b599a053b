import { type ChildProcess, fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { startForgeA } from "../kit/forge-a/server.ts";
import { startForgeB } from "../kit/forge-b/server.ts";
import type { ForgePlace, ForgeServer } from "../kit/forge-server.ts";
import { freePort } from "../kit/free-port.ts";
import { temporaryFolder } from "../kit/kernel.ts";

/** More with SVC_SOAK: the whole promise is 100 kills. */
const KILLS = Number(process.env.SVC_SOAK ?? 5);
const MENTIONS = KILLS * 4;
const AGENTS = ["my-agent", "my-agent-2"] as const;
const PROJECT = "team/app";

let daemon: ChildProcess;
let forges: readonly ForgeServer[] = [];
afterEach(async () => {
  await kill();
  for (const forge of forges) await forge.close();
});

const kill = () =>
  new Promise<void>((resolve) => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return resolve();
    daemon.removeAllListeners("exit");
    daemon.once("exit", () => resolve());
    daemon.kill("SIGKILL");
  });

/** The same faults at every run: a failure can be repeated. */
function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** A forge with two agents, a person, and places where it is written to. */
function furnish(forge: ForgeServer, name: string, port: number): readonly ForgePlace[] {
  forge.addUser("ann");
  for (const agent of AGENTS) {
    forge.addUser(agent);
    forge.addToken(`${name}-token-of-${agent}`, agent);
  }
  forge.addProject(PROJECT, { members: { ann: "write", "my-agent": "write", "my-agent-2": "write" } });
  forge.hooks.add(`http://127.0.0.1:${port}/webhook/${name}`, `the-secret-of-${name}`);
  // In threads, where the forge has them: order is kept in each.
  return [1, 2, 3].map((n) => forge.comment("ann", forge.open("ann", PROJECT, "issue", { title: `Issue ${n}`, text: "words" }), "a first word").place);
}

it(`HOOK-07 FAULT-38 FAULT-39 ${MENTIONS} mentions on two forges that redeliver, lose answers and throttle, ${KILLS} kills: each has one comment, in order`, {
  timeout: 60_000 + KILLS * 30_000,
}, async () => {
  const dice = createDice(11);
  const port = await freePort();
  const named = { forge_a: await startForgeA(), forge_b: await startForgeB() } as const;
  forges = Object.values(named);
  const places = Object.entries(named).flatMap(([name, forge]) => furnish(forge, name, port).map((place) => ({ name, forge, place })));
  const folder = await temporaryFolder();
  const config = join(folder, "svc.json");
  const mappings = (name: string) => AGENTS.map((agentId) => ({ agentId, token: `${name}-token-of-${agentId}` }));
  const agent = { name: "A", workspace: join(folder, "w"), tier: "local", maxConcurrent: 8, local: { mode: "echo", delayMs: 20 } };
  await writeFile(
    config,
    JSON.stringify({
      node: { id: "n1", name: "Node 1", bind: "127.0.0.1:0" },
      agents: Object.fromEntries(AGENTS.map((id) => [id, agent])),
      resume: { maxAttempts: 20, crashLoop: { restarts: 1000, windowMinutes: 1 } },
      channels: {
        forge_a: { enabled: true, host: named.forge_a.url, webhookSecret: "the-secret-of-forge_a", agentMappings: mappings("forge_a") },
        forge_b: { enabled: true, apiRoot: named.forge_b.url, webhookSecret: "the-secret-of-forge_b", agentMappings: mappings("forge_b") },
      },
    }),
    { mode: 0o600 },
  );

  let errors = "";
  const start = () =>
    new Promise<void>((resolve, reject) => {
      daemon = fork(join(import.meta.dirname, "forge-daemon.mjs"), [config, `${port}`], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
      daemon.stderr?.on("data", (chunk) => (errors += chunk));
      daemon.once("message", () => resolve());
      daemon.once("exit", (code) => reject(new Error(`the daemon ended with ${code} before it was ready:\n${errors}`)));
    });
  const look = () =>
    new Promise<void>((resolve) => {
      daemon.once("message", () => resolve());
      daemon.send("look");
    });
  await start();

  const asked: {
    readonly name: string;
    readonly forge: ForgeServer;
    readonly place: ForgePlace;
    readonly agents: readonly string[];
    readonly words: string;
    readonly id: number;
  }[] = [];
  let kills = 0;
  for (let n = 0; n < MENTIONS; n += 1) {
    const { name, forge, place } = places[Math.floor(dice() * places.length)] as (typeof places)[number];
    const agents = dice() < 0.2 ? AGENTS : [AGENTS[Math.floor(dice() * 2)] as (typeof AGENTS)[number]];
    const words = `mention ${n} of ${name}`;
    const { id } = forge.comment("ann", place, `${agents.map((one) => `@${one}`).join(" ")} ${words}`);
    asked.push({ name, forge, place, agents, words, id });
    if (dice() < 0.1) forge.faults.next({ kind: "cut", ...(dice() < 0.5 ? { after: true } : {}) }, { method: "POST", path: /notes|discussions|comments/ });
    if (dice() < 0.1) forge.faults.next({ kind: "status", status: 502, after: true }, { method: dice() < 0.5 ? "PUT" : "POST" });
    if (dice() < 0.05) forge.faults.next({ kind: "limited", retryAfter: "1" });
    const old = forge.hooks.deliveries.at(-1 - Math.floor(dice() * 3));
    if (old !== undefined && dice() < 0.3) void forge.hooks.redeliver(old, { fresh: dice() < 0.5 });
    await new Promise((resolve) => setTimeout(resolve, 20 + dice() * 150));
    if (kills < KILLS && n >= ((kills + 1) * MENTIONS) / (KILLS + 1)) {
      kills += 1;
      if (kills % 10 === 0) console.info(`${kills} kills, ${n + 1} mentions`);
      await kill();
      // What is written meanwhile is told to nobody: only a look finds it.
      if (dice() < 0.5) {
        const late = places[Math.floor(dice() * places.length)] as (typeof places)[number];
        const said = `mention while down ${n} of ${late.name}`;
        const { id: lateId } = late.forge.comment("ann", late.place, `@${AGENTS[0]} ${said}`);
        asked.push({ ...late, agents: [AGENTS[0]], words: said, id: lateId });
      }
      await start();
    }
  }

  const isAgent = (login: string) => (AGENTS as readonly string[]).includes(login);
  const said = () =>
    places.flatMap(({ name, forge, place }) =>
      forge
        .comments(place)
        .filter(({ by }) => isAgent(by))
        .map((comment) => ({ name, ...comment })),
    );
  const answers = ({ name, words }: (typeof asked)[number], by: string, all = said()) =>
    all.filter((one) => one.name === name && one.by === by && one.text.includes("· answered") && one.text.includes(`${words}\n`));
  const missing = () => {
    const all = said();
    return asked.flatMap((one) => one.agents.filter((by) => answers(one, by, all).length === 0).map((by) => `${by}: ${one.words}`));
  };
  for (let before = -1, patience = 0; missing().length > 0 && patience < 300; patience += 1) {
    if (missing().length !== before) patience = 0;
    before = missing().length;
    if (patience % 30 === 29) await look();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(missing(), errors.slice(-4_000)).toEqual([]);

  // The own comments come once more, and start nothing.
  for (const forge of forges) for (const delivery of forge.hooks.deliveries.slice(-20)) await forge.hooks.redeliver(delivery, { fresh: true });
  await look();
  const total = asked.reduce((sum, one) => sum + one.agents.length, 0);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(
    said().length,
    `${said()
      .map(({ name, by, text }) => `${name} ${by} ${text.slice(0, 60)}`)
      .join("\n")}`,
  ).toBe(total);
  for (const one of asked) for (const by of one.agents) expect(answers(one, by), one.words).toHaveLength(1);
  // What was told in time is answered in its order; what a kill lost comes when a look finds it.
  const told = ({ forge, id }: (typeof asked)[number]) => forge.hooks.deliveries.find(({ about }) => about === `comment:${id}`)?.status === 202;
  const lost = asked.filter((one) => !told(one)).map(({ words }) => words);
  expect(lost.length).toBeLessThan(asked.length);
  for (const { name, forge, place } of places)
    for (const by of AGENTS) {
      const wanted = asked
        .filter((one) => one.name === name && one.place.id === place.id && (one.agents as readonly string[]).includes(by) && told(one))
        .map(({ words }) => words);
      const order = forge
        .comments(place)
        .filter((one) => one.by === by)
        .flatMap(({ text }) => wanted.find((words) => text.includes(`${words}\n`)) ?? []);
      expect(order, `${name} ${place.id} ${by}`).toEqual(wanted);
    }
  for (const forge of forges) expect(forge.violations).toEqual([]);
  console.info(
    `${total} runs of ${asked.length} mentions, ${kills} kills, ${forges.map(({ requests }) => requests.length).join(" and ")} requests, ${lost.length} found by a look: one comment each`,
  );
});
