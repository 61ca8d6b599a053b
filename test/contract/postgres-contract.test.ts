import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "@svc/sdk/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";

let server: TestServer;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterAll(() => server?.stop());

describe.skipIf(NO_POSTGRES !== undefined)("the store in a schema", () => {
  storeContract({ describe, it }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-store-"));
    let wall = 1_800_000_000_000;
    let steady = 1_000_000;
    const driver = await openPostgres({ ...server.schema(), poolSize: 4, folder, clock: { steady: () => steady, wall: () => wall } });
    return {
      store: driver.scope("core"),
      neighbour: driver.scope("feature-other"),
      reclaim: () => driver.reclaim("n1"),
      advance(ms: number) {
        wall += ms;
        steady += ms;
      },
      turn(ms: number) {
        wall += ms;
      },
      async close() {
        await driver.close();
        await rm(folder, { recursive: true });
      },
    };
  });
});
