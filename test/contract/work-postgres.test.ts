import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Op, StoreWork } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { SharedLanes } from "../../kernel/lanes/shared-lanes.ts";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { CONTRACT_LIMITS, workContract } from "../kit/work-contract.ts";

let server: TestServer;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterAll(() => server?.stop());

describe.skipIf(NO_POSTGRES !== undefined)(`lanes in a schema${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  workContract("lanes as rows", async (worker) => {
    const folder = await mkdtemp(join(tmpdir(), "svc-work-"));
    const driver = await openPostgres({ ...server.schema(), poolSize: 4, folder });
    let failure: Error | undefined;
    const written: string[] = [];
    const rows = driver.work("core");
    const failing: StoreWork = {
      ...rows,
      async finish(claim, ops) {
        const error = failure;
        failure = undefined;
        if (error !== undefined) throw error;
        const answer = await rows.finish(claim, ops);
        if (answer === "finished") written.push(...ops.map((op) => (op as Extract<Op, { op: "put" }>).key));
        return answer;
      },
    };
    const work = new SharedLanes<string>({
      rows: failing,
      worker,
      log: { warn: (...args: unknown[]) => console.warn(...args) },
      idOf: (item) => item,
      load: async (_id, known) => known,
      turn: CONTRACT_LIMITS,
    });
    return {
      work,
      async written() {
        const stored = await driver.scope("core").collection("done").list();
        expect(stored.map(({ key }) => key).sort()).toEqual([...written].sort());
        return written;
      },
      failNext(error) {
        failure = error;
      },
      async end() {
        await work.close();
        await driver.close();
        await rm(folder, { recursive: true });
      },
    };
  });
});
