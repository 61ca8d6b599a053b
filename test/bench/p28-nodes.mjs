import { existsSync } from "node:fs";
import { join } from "node:path";
import { createJiti } from "jiti";
import { openCallers } from "./caller.mjs";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { addedAtMost, ratioAtLeast } from "./rounds.mjs";

/** Callers of one node: as many as leave a processor of an idle machine free when three nodes are asked. */
const CALLERS = 4;
/** Three pieces, each after 17 ms: an engine that is waited for 50 ms and costs nothing. */
const WAITS = { mode: "echo", chunks: 3, delayMs: 17 };

const configOf = (id, store) => (port) => {
  const config = echoConfig(port);
  config.node.id = id;
  config.agents.echo.local = WAITS;
  return { ...config, ...(store === undefined ? {} : { store }) };
};

/** Tasks a second of all these callers together. */
async function together(callers, ms) {
  const runs = await Promise.all(callers.map((one) => one.run(ms)));
  return runs.reduce((sum, { perSecond }) => sum + perSecond, 0);
}

export default {
  id: "P28",
  title: "nodes on one database",
  against: "one node on the database; for the time of a task: the same daemon on SQLite",
  note: "the database runs on the same machine: once its processors are full no node adds anything",
  lines: [
    { what: `two nodes, ${CALLERS} callers each, an engine of 50 ms`, unit: "a second", target: ratioAtLeast(1.6) },
    { what: `three nodes, ${CALLERS} callers each`, unit: "a second", target: ratioAtLeast(2.4) },
    { what: "a task of one caller, median", unit: "ms", target: addedAtMost(25, "ms") },
  ],
  skip: () => (existsSync("/usr/lib/postgresql") ? undefined : "no PostgreSQL server is installed (on Debian: apt-get install postgresql)"),
  async open({ folder, quick }) {
    const { startPostgres } = await createJiti(import.meta.url).import("../kit/postgres.ts");
    const server = await startPostgres(60, { durable: true });
    const store = server.schema();
    const plain = await startDaemon(join(folder, "plain"), configOf("plain"));
    const nodes = [];
    for (const id of ["n1", "n2", "n3"]) nodes.push(await startDaemon(join(folder, id), configOf(id, store)));
    const callers = await Promise.all(nodes.map(({ port }, at) => openCallers(port, CALLERS, `of-n${at + 1}`, 0)));
    const [single, alone] = [await openCallers(plain.port, 1), await openCallers(nodes[0].port, 1, "alone", 0)];
    const ms = quick ? 2_000 : 5_000;
    await together([...callers, single], 2_000);
    return {
      rounds: quick ? 1 : 3,
      async floor() {
        const one = await together(callers.slice(0, 1), ms);
        return [one, one, (await single.run(ms)).p50];
      },
      async ours() {
        return [await together(callers.slice(0, 2), ms), await together(callers, ms), (await alone.run(ms)).p50];
      },
      async close() {
        for (const one of [...callers, single, alone]) one.close();
        await Promise.all([plain, ...nodes].map((daemon) => daemon.stop()));
        await server.stop();
      },
    };
  },
};
