/**
 * A chain of steps on nothing but the store, as a workflow is one: the result of a node and the start of the next are one transaction, and
 * a node that was under way when the process died is run again as its next attempt. Each beginning is noted in `SVC_TEST_LEDGER`, which no
 * transaction takes back. A node named in `SVC_TEST_GATE` waits there until it is killed or that file is gone.
 */
import { appendFileSync, existsSync } from "node:fs";
import { append, complete, push, put } from "@svc/sdk";

/** Far longer than a test: an item comes back because its holder is dead, not because time went by. */
const LEASE_MS = 3_600_000;
const LINES = 4;

/** All pages of a list; `page` gets the last one of the page before. */
async function whole(page) {
  const all = [];
  for (let more = await page(); more.length > 0; more = await page(all.at(-1))) all.push(...more);
  return all;
}

export default {
  kind: "feature",
  name: "chain",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["store", "routes"],
  setup(ctx) {
    const runs = ctx.store.collection("runs");
    const nodes = ctx.store.queue("nodes");
    const told = ctx.store.journal("told");
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    let work = Promise.resolve();
    let stopping = false;

    async function begin({ run, length }) {
      const first = { run, node: 1 };
      await ctx.store.commit([put("runs", run, { length, results: [], state: "running" }, "absent"), push("nodes", `${run}:1`, first, { group: run })]);
      return first;
    }

    async function carryOut({ id, value: { run, node }, attempt, redelivered }) {
      appendFileSync(process.env.SVC_TEST_LEDGER, `${JSON.stringify({ run, node, attempt, redelivered })}\n`);
      const gate = process.env.SVC_TEST_GATE;
      do await pause(1 + ((node * 7) % 20));
      while (gate?.endsWith(`/${run}-${node}`) && existsSync(gate));
      const { value, version } = await runs.get(run);
      const results = [...value.results, { node, attempt }];
      const last = node === value.length;
      const next = last ? [] : [push("nodes", `${run}:${node + 1}`, { run, node: node + 1 }, { group: run })];
      await ctx.store.commit([
        complete("nodes", id, attempt),
        put("runs", run, { ...value, results, state: last ? "done" : "running" }, version),
        append("told", { run, node, attempt, last }),
        ...next,
      ]);
    }

    async function line() {
      while (!stopping) {
        const claimed = await nodes.claim(1, LEASE_MS);
        for (const item of claimed) await carryOut(item);
        if (claimed.length === 0) await pause(5);
      }
    }

    const body = { type: "object", required: ["run", "length"], properties: { run: { type: "string" }, length: { type: "integer" } } };
    ctx.provide.route({ method: "POST", path: "/chain", guard: "loopback", body, handle: ({ body }) => begin(body) });
    ctx.provide.route({
      method: "GET",
      path: "/chain",
      guard: "loopback",
      handle: async () => ({
        runs: await whole((last) => runs.list({ limit: 1000, ...(last === undefined ? {} : { after: last.key }) })),
        told: await whole((last) => told.read(last?.seq ?? 0, 1000)),
        unfinished: await nodes.size(),
      }),
    });
    return {
      start: async () => {
        work = Promise.all(Array.from({ length: LINES }, line));
      },
      stop() {
        stopping = true;
        return work;
      },
    };
  },
};
