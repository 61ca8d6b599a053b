import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { burst, signedDeliveries } from "./deliveries.mjs";
import { startNode } from "./process.mjs";
import { atMost, ratioAtLeast, told } from "./rounds.mjs";

const BYTES = 20_000;
const SECRET = "the secret of the bench";

/** Rows of a table in the file of a process that was killed. */
function rowsIn(file, sql) {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare(sql).pluck().get();
  } finally {
    database.close();
  }
}

export default {
  id: "P16",
  title: "a burst of webhooks",
  against: "fastify that checks no signature and stores the body in one table, FULL, each delivery in a transaction of its own",
  lines: [
    { what: "signed deliveries of 20 KB, 64 connections", unit: "a second", target: ratioAtLeast(0.4) },
    { what: "the same, against ten a transaction as in P9", unit: "a second", target: told },
    { what: "the same, against as many a transaction as wait", unit: "a second", target: told },
    { what: "of these lost by a kill after the last answer", unit: "deliveries", target: atMost(0, "deliveries") },
  ],
  async open({ folder, quick }) {
    const count = quick ? 2_000 : 10_000;
    const requests = signedDeliveries({ count, bytes: BYTES, secret: SECRET });
    let round = 0;
    const place = () => {
      round += 1;
      const made = join(folder, String(round));
      mkdirSync(made);
      return made;
    };
    const bare = async (most) => {
      const at = place();
      const receiver = await startNode([join(import.meta.dirname, "floors/receiver.mjs"), at, String(most)]);
      const perSecond = await burst(receiver.facts.port, requests);
      process.kill(receiver.pid, "SIGKILL");
      await receiver.stop();
      return { perSecond, lost: count - rowsIn(join(at, "floor.db"), "SELECT count(*) FROM deliveries") };
    };
    return {
      rounds: quick ? 2 : 3,
      async floor() {
        const [each, ten, all] = [await bare(1), await bare(10), await bare(64)];
        return [each.perSecond, ten.perSecond, all.perSecond, each.lost + ten.lost + all.lost];
      },
      async ours() {
        const at = place();
        const agents = { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo", delayMs: 1_000 } } };
        const config = (port) => echoConfig(port, { agents, webhooks: [{ id: "builds", source: "ci", agentId: "echo", secretEnv: "BENCH_SECRET" }] });
        const daemon = await startDaemon(at, config, [], { ...process.env, BENCH_SECRET: SECRET });
        const perSecond = await burst(daemon.port, requests);
        process.kill(daemon.pid, "SIGKILL");
        await daemon.stop();
        const kept = rowsIn(
          join(at, ".svc/svc.db"),
          `SELECT count(*) FROM "documents:core/traces" WHERE json_extract(value, '$.inbound.channel') = 'webhook' OR json_extract(value, '$.channel') = 'webhook'`,
        );
        return [perSecond, perSecond, perSecond, count - kept];
      },
      note: () => "an agent that takes a second for each works on what came in meanwhile",
    };
  },
};
