import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreWork } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Lanes } from "../../kernel/lanes/lanes.ts";
import { SharedLanes } from "../../kernel/lanes/shared-lanes.ts";
import { LANE_FUNCTIONS } from "../../plugins/stores/postgres/lane-functions.ts";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { CONTRACT_LIMITS } from "../kit/work-contract.ts";
import { type Counts, numbers, type RandomWorld, randomWork } from "../kit/work-random.ts";

/** Runs in memory and on the server; `SVC_SOAK` for so many on the server, and a hundred times as many in memory. */
const SOAK = Number(process.env.SVC_SOAK ?? 0);
const IN_MEMORY = SOAK > 0 ? SOAK * 100 : 300;
const ON_SERVER = SOAK > 0 ? SOAK : 2;

const sum = (all: Counts, some: Counts) => {
  for (const [what, count] of Object.entries(some)) all[what] = (all[what] ?? 0) + count;
};

describe("lanes in memory, random calls", () => {
  it(`${IN_MEMORY} runs: nothing is lost, doubled, overtaken or left standing`, { timeout: 60_000 + IN_MEMORY * 100 }, async () => {
    const counts: Counts = {};
    for (let seed = 1; seed <= IN_MEMORY; seed += 1)
      sum(counts, await randomWork(inMemory(seed), { seed, nodes: 1, steps: 120, patienceMs: 5_000, paceMs: 0 }));
    for (const what of ["replace", "dropped", "cancel: removed", "cancel: asked", "release", "park", "park again", "unpark", "pause"])
      expect(counts[what] ?? 0, what).toBeGreaterThan(0);
  });
});

describe.skipIf(NO_POSTGRES !== undefined)(`lanes as rows, random calls${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  it(`${ON_SERVER} runs of three daemons, killed, with answers lost: the same holds`, { timeout: 120_000 + ON_SERVER * 30_000 }, async () => {
    const counts: Counts = {};
    for (let seed = 1; seed <= ON_SERVER; seed += 1) {
      const world = onServer(server, seed);
      try {
        sum(counts, await randomWork(world, { seed, nodes: 3, steps: 200, patienceMs: 20_000, paceMs: 12 }));
      } finally {
        await world.end();
      }
    }
    if (SOAK > 0) console.log(JSON.stringify(counts));
    for (const what of ["kill", "release", "park", "unpark", "cancel: removed"]) expect(counts[what] ?? 0, what).toBeGreaterThan(0);
  });
});

/** What the protocol stands on, each taken out once. */
const BROKEN: Readonly<Record<string, Breakage>> = {
  "without the token": { sql: (text) => text.replaceAll("AND token = (op ->> 't')::uuid FOR UPDATE", "FOR UPDATE") },
  "without the agent's lock": { sql: (text) => text.replace("PERFORM 1 FROM lane_agent WHERE id = of_agent FOR UPDATE;", "PERFORM pg_sleep(0.002);") },
  "without the sweep": { rows: (rows) => ({ ...rows, sweep: async () => 0 }) },
  "without looking for what it holds": { rows: onlyAnswered },
  "with the next batch chosen by who enters": {
    sql: (text) =>
      text.replace(
        "INSERT INTO lane AS was (key) VALUES (k) ON CONFLICT (key) DO UPDATE SET entered = was.entered + 1 RETURNING * INTO l;",
        "SELECT * INTO l FROM lane WHERE key = k; PERFORM pg_sleep(0.002); INSERT INTO lane (key) VALUES (k) ON CONFLICT DO NOTHING; l.state := coalesce(l.state, 'idle');",
      ),
  },
};

/** Knows of no claim whose answer was lost. */
function onlyAnswered(rows: StoreWork): StoreWork {
  const answered = new Set<string>();
  return {
    ...rows,
    async claim(...asked) {
      const claims = await rows.claim(...asked);
      for (const { token } of claims) answered.add(token);
      return claims;
    },
    held: async () => (await rows.held()).filter(({ token }) => answered.has(token)),
  };
}

describe.skipIf(NO_POSTGRES !== undefined || SOAK === 0)("the judge of random calls can fail", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  it.each(Object.entries(BROKEN))("%s", { timeout: 900_000 }, async (_, broken) => {
    const runs = async () => {
      for (let seed = 1; seed <= 40; seed += 1) {
        const world = onServer(server, seed, broken);
        try {
          await randomWork(world, { seed, nodes: 3, steps: 200, patienceMs: 3_000, paceMs: 12 });
        } finally {
          await world.end();
        }
      }
    };
    const error = await runs().then(
      () => undefined,
      (reason: Error) => reason,
    );
    console.log(error?.message.split("\n")[0]);
    expect(error?.message).toMatch(/^seed/);
  });
});

function inMemory(seed: number): RandomWorld {
  const done = new Set<string>();
  const random = numbers(seed + 7);
  let lanes: Lanes<string>;
  return {
    async node(worker) {
      lanes = new Lanes<string>(
        worker,
        async (ops) => {
          if (random() < 0.5) await new Promise<void>((resolve) => setImmediate(resolve));
          for (const op of ops) {
            if (op.op !== "put") continue;
            if (done.has(op.key)) throw new Error(`${op.key} is written twice`);
            done.add(op.key);
          }
        },
        CONTRACT_LIMITS,
      );
      return { work: lanes };
    },
    done: async () => done,
    rest: async () => lanes.waiting(),
    end: async () => {},
  };
}

/** How the protocol is broken: its functions on the server, or what a daemon asks them. */
interface Breakage {
  readonly sql?: (functions: string) => string;
  readonly rows?: (rows: StoreWork) => StoreWork;
}

function onServer(server: TestServer, seed: number, broken: Breakage = {}): RandomWorld {
  const { url, schema } = server.schema();
  const random = numbers(seed + 7);
  const opened: { readonly driver: PostgresStore; readonly lanes: SharedLanes<string>; readonly folder: string }[] = [];
  /** The answer of a call is lost after it was done, or the call before it was. */
  const lossy = (rows: StoreWork): StoreWork => ({
    ...rows,
    async claim(...asked) {
      if (random() < 0.03) throw new Error("the call was lost");
      const claims = await rows.claim(...asked);
      if (random() < 0.05) throw new Error("the answer was lost");
      return claims;
    },
  });
  return {
    async node(worker, agents) {
      const folder = await mkdtemp(join(tmpdir(), "svc-work-"));
      const driver = await openPostgres({ url, schema, poolSize: 4, folder, shared: true });
      if (broken.sql !== undefined) {
        const functions = broken.sql(LANE_FUNCTIONS);
        expect(functions).not.toBe(LANE_FUNCTIONS);
        server.sql(functions.replaceAll("{s}", schema));
      }
      const rows = lossy(driver.work("core"));
      const lanes = new SharedLanes<string>({
        rows: broken.rows?.(rows) ?? rows,
        worker,
        log: { warn() {} },
        idOf: (item) => item,
        load: async (id) => id,
        agents: () => new Map([...agents].map(([agent, limit]) => [agent, { limit }])),
        turn: CONTRACT_LIMITS,
        everyMs: 40,
      });
      opened.push({ driver, lanes, folder });
      return {
        work: lanes,
        async kill() {
          server.sql(`UPDATE ${schema}.node SET alive = false, lease_until = 'epoch' WHERE boot = ${driver.boot}`);
        },
      };
    },
    async done() {
      const found = await opened.at(-1)?.driver.scope("core").collection("done").list({ limit: 1_000 });
      return new Set(found?.map(({ key }) => key));
    },
    rest: async () => server.sql(`SELECT key FROM ${schema}.lane UNION ALL SELECT id FROM ${schema}.lane_item`).split("\n").filter(Boolean),
    async end() {
      for (const { driver, lanes, folder } of opened) {
        await lanes.close();
        await driver.close();
        await rm(folder, { recursive: true });
      }
    },
  };
}
