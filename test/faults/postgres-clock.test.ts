import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreNode } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { endDaemons, firstOf, startDaemon, writeConfig } from "./daemon.harness.ts";

const library = firstOf([
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/local/lib/faketime/libfaketime.so.1",
]);
const reason = NO_POSTGRES ?? (library === undefined ? "libfaketime is not installed" : undefined);
if (reason !== undefined) console.warn(`skipped, the clock of a machine and that of the store: ${reason}`);

let server: TestServer;
let folder: string;
beforeAll(async () => {
  if (reason !== undefined) return;
  server = await startPostgres();
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});
afterAll(() => server?.stop());

it.skipIf(reason !== undefined)(
  "FAULT-19 a machine whose clock is ten minutes ahead is told so, and its jobs look at the minutes of the server",
  async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-node-clock-"));
    const { url, schema } = server.schema();
    writeConfig(folder, { crons: { never: { schedule: "0 0 1 1 *", agent: "echo", command: "true" } } });
    const file = join(folder, "svc.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), store: { url, schema } }));
    const env = { LD_PRELOAD: library as string, FAKETIME: "+600s", DONT_FAKE_MONOTONIC: "1", FAKETIME_DONT_RESET: "1" };
    const daemon = await startDaemon(folder, { env });
    const nodes = async () => ((await (await fetch(`http://127.0.0.1:${daemon.port}/nodes`)).json()) as { nodes: StoreNode[] }).nodes;
    await vi.waitFor(async () => expect(Math.round(Number((await nodes())[0]?.skewMs) / 1_000)).toBe(600), { timeout: 30_000, interval: 100 });
    await vi.waitFor(() => expect(daemon.said()).toMatch(/the clock of this machine is (?:599\.9|600\.\d) s ahead of that of the store, by which jobs run/), {
      timeout: 30_000,
      interval: 100,
    });
    // How far the schedule has looked is noted at the stop at the latest.
    await daemon.kill("SIGTERM");
    const looked = Number(
      server.sql(`SELECT (value::jsonb ->> 'minute')::bigint FROM ${schema}.doc WHERE collection = 'core/marks' AND key LIKE 'schedule %'`),
    );
    const minute = Number(server.sql("SELECT floor(extract(epoch FROM clock_timestamp()) / 60)"));
    expect(minute - looked).toBeLessThan(5);
    expect(minute).toBeGreaterThanOrEqual(looked);
  },
  90_000,
);
