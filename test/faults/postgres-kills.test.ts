import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { endDaemons, pause } from "./daemon.harness.ts";
import { createWitness } from "./witness.harness.ts";

const KILLS = Number(process.env.SVC_SOAK ?? 2);

let server: TestServer;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterEach(endDaemons);
afterAll(() => server?.stop());

describe.skipIf(NO_POSTGRES !== undefined)("a daemon on PostgreSQL", () => {
  it(`FAULT-01 FAULT-02 FAULT-03 FAULT-05 ${KILLS} kills of it and as many crashes of the server: nothing acknowledged is lost or done twice, chats keep their order`, {
    timeout: 120_000 + KILLS * 15_000,
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-postgres-kills-"));
    const witness = await createWitness(folder, 2, { store: server.schema() });
    try {
      for (let done = 0; done < KILLS; done += 1) {
        const daemon = await witness.start();
        const sending = witness.sendTo(daemon, undefined, 60);
        await pause(200 + Math.random() * 600);
        await server.crash();
        await pause(Math.random() * 600);
        await daemon.kill("SIGKILL");
        await sending;
      }
      const daemon = await witness.start();
      expect(await witness.judge(daemon)).toEqual([]);
      await daemon.kill("SIGTERM");
      const again = await witness.start();
      expect(await witness.judge(again)).toEqual([]);
      await again.kill("SIGTERM");
      const { acknowledged, delivered, doubled, doubts } = witness.tally();
      console.log(
        `${KILLS} kills: ${acknowledged} acknowledged, ${delivered} delivered, ${doubled} twice where no key can be handed over, announced ${doubts} times`,
      );
      expect(acknowledged).toBeGreaterThan(KILLS);
      expect(delivered).toBeGreaterThan(KILLS);
    } finally {
      await endDaemons();
      await witness.close();
      await rm(folder, { recursive: true, maxRetries: 5 });
    }
  });
});
