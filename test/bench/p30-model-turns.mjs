import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openCallers } from "./caller.mjs";
import { startDaemon } from "./daemon.mjs";
import { startNode } from "./process.mjs";
import { addedAtMost, ratioAtLeast, told } from "./rounds.mjs";

const TIERS = ["sdk", "orchestrator"];
const WARM_MS = 2_000;

const config = (tier, endpoint) => (port) => ({
  node: { id: "bench", name: "Bench", bind: `127.0.0.1:${port}` },
  providers: { mine: { api: "openai", endpoint, apiKey: "a-key" } },
  agents: { echo: { name: "Echo", workspace: "./w", tier, provider: "mine", model: "bench", maxConcurrent: 64 } },
});

export default {
  id: "P30",
  title: "a turn on a model",
  against:
    "a hand-written streaming call of the same model, which keeps nothing; for the kept ones, a server that keeps the same promises by hand around it (floors/promises.mjs)",
  lines: TIERS.flatMap((tier) => [
    { what: `tier ${tier}, one caller, median, beside the call`, unit: "ms", target: addedAtMost(3, "ms") },
    { what: `tier ${tier}, 16 callers, beside the same promises`, unit: "a second", target: ratioAtLeast(0.3) },
    { what: `tier ${tier}, 16 callers, beside the call`, unit: "a second", target: told },
  ]),
  async open({ folder, quick }) {
    const program = (name, ...args) => startNode([join(import.meta.dirname, "floors", name), ...args]);
    const model = await program("stream-model.mjs");
    const { url } = model.facts;
    mkdirSync(folder, { recursive: true });
    const [client, keeping] = await Promise.all([program("stream-client.mjs", url), program("promises.mjs", folder, url)]);
    const kept = await openCallers(keeping.facts.port, 16, "many", 1);
    const daemons = await Promise.all(TIERS.map((tier) => startDaemon(join(folder, tier), config(tier, url))));
    const callers = await Promise.all(daemons.map(async ({ port }) => [await openCallers(port, 1, "one", 1), await openCallers(port, 16, "many", 1)]));
    const ms = quick ? 1_500 : 3_000;
    // Both sides equally warm, and conversations as long as they get.
    await client.ask(`16 ${WARM_MS}`);
    await kept.run(WARM_MS);
    for (const [one, many] of callers) {
      await many.run(2 * WARM_MS);
      await one.run(WARM_MS);
    }
    return {
      async floor() {
        const { p50 } = await client.ask(`1 ${ms}`);
        const { perSecond } = await client.ask(`16 ${ms}`);
        const promised = await kept.run(ms);
        return TIERS.flatMap(() => [p50, promised.perSecond, perSecond]);
      },
      async ours() {
        const found = [];
        for (const [one, many] of callers) {
          const { p50 } = await one.run(ms);
          const { perSecond } = await many.run(ms);
          found.push(p50, perSecond, perSecond);
        }
        return found;
      },
      async close() {
        for (const one of [kept, ...callers.flat()]) one.close();
        await Promise.all([...daemons, keeping, client, model].map((process) => process.stop()));
      },
    };
  },
};
