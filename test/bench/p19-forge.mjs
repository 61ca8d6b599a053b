import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createJiti } from "jiti";
import { startDaemon } from "./daemon.mjs";
import { cpuMs, freePort } from "./process.mjs";
import { atMost } from "./rounds.mjs";

const AGENTS = 20;
const PROJECT = "grp/tool";
const SECRET = "the secret of the hooks";
const PATIENCE_MS = 120_000;

async function until(fits) {
  for (const end = Date.now() + PATIENCE_MS; !(await fits()); ) {
    if (Date.now() > end) throw new Error("not every note was answered");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export default {
  id: "P19",
  title: "notes of a code forge",
  against: "nothing: processor time of the daemon, which a forge's own pace (one comment a second a token) does not stretch",
  lines: [{ what: "a note, from its webhook to the eye, the status comment and the answer in it", unit: "ms", target: atMost(10, "ms") }],
  async open({ folder, quick }) {
    const { startForgeA } = await createJiti(import.meta.url).import(join(import.meta.dirname, "../kit/forge-a/server.ts"));
    const notes = quick ? 2 : 4;
    let round = 0;
    return {
      rounds: quick ? 1 : 2,
      floor: async () => [0],
      async ours() {
        round += 1;
        const at = join(folder, String(round));
        mkdirSync(at);
        const far = await startForgeA();
        const names = Array.from({ length: AGENTS }, (_, n) => `agent-${n}`);
        far.addUser("ada");
        for (const name of names) {
          far.addUser(name, { bot: true });
          far.addToken(`token-of-${name}`, name);
        }
        far.addProject(PROJECT, { members: Object.fromEntries(["ada", ...names].map((name) => [name, "write"])) });
        const webhookPort = await freePort();
        far.hooks.add(`http://127.0.0.1:${webhookPort}/webhook/forge_a`, SECRET);
        const config = (port) => ({
          node: { id: "bench", name: "Bench", bind: `127.0.0.1:${port}`, defaultAgent: names[0] },
          agents: Object.fromEntries(names.map((name) => [name, { name, workspace: "./w", tier: "local", local: { mode: "echo", step: true } }])),
          channels: {
            forge_a: {
              enabled: true,
              host: far.url,
              webhookPort,
              webhookSecret: SECRET,
              agentMappings: names.map((name) => ({ agentId: name, forgeUsernames: [name], token: `token-of-${name}` })),
            },
          },
        });
        const daemon = await startDaemon(at, config);
        try {
          await until(async () => {
            const { channels } = await (await fetch(`http://127.0.0.1:${daemon.port}/channels`)).json();
            return channels.find(({ name }) => name === "forge_a")?.state === "ready";
          });
          const places = names.map((name) => far.open("ada", PROJECT, "issue", { title: `for ${name}` }));
          // What is loaded with the first note is not counted to those after it.
          far.comment("ada", places[0], `@${names[0]} hello`);
          const answered = () => places.reduce((sum, place) => sum + far.comments(place).filter(({ text }) => text.includes("· answered")).length, 0);
          await until(() => answered() === 1);
          const before = cpuMs(daemon.pid);
          for (let note = 0; note < notes; note += 1)
            for (const [n, name] of names.entries()) far.comment("ada", places[n], `@${name} note ${note}: please look`);
          await until(() => answered() === 1 + notes * AGENTS);
          const ms = (cpuMs(daemon.pid) - before) / (notes * AGENTS);
          if (far.violations.length > 0) throw new Error(`the forge was asked wrongly: ${far.violations[0]}`);
          return [ms];
        } finally {
          await daemon.stop();
          await far.close();
        }
      },
      note: () =>
        `${AGENTS} agents with tokens of their own, ${notes} notes each, answered in echo mode with one step; own edits come back as webhooks and are counted in`,
    };
  },
};
