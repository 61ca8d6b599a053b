import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "@svc/sdk";
import { expect, it } from "vitest";
import { createConnection, type Link } from "../../plugins/channels/phonemsg/connection.ts";
import { openSession } from "../../plugins/channels/phonemsg/session/session.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { setStage, until } from "./phonemsg.harness.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Log;

it.skipIf(lacking)("a place that another program takes each time is asked for less and less often", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "phonemsg-"));
  const one = await setStage({ folder });
  await one.start();
  await one.halfStop();
  const { far } = one;
  const session = await openSession(join(folder, "session"), far.lib, { trouble() {}, signal: new AbortController().signal });
  const pauses: number[] = [];
  const links: Link[] = [];
  const before = far.connections;
  const connection = createConnection({
    vendor: far.lib,
    session,
    log: SILENT,
    server: far.url,
    hear: async () => {},
    attend() {},
    sent: async () => undefined,
    settled: async () => {},
    newestVersion: async () => undefined,
    changed(link) {
      links.push(link);
      if (link.state === "open") void far.line?.fail("440", { tag: "conflict", attrs: { type: "replaced" } });
    },
    async pause(ms, signal) {
      pauses.push(ms);
      if (pauses.length < 7) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
  });
  connection.start();
  await until(() => pauses.length === 7, 40_000);
  expect(far.connections - before).toBe(7);
  expect(links.filter(({ state }) => state === "open")).toHaveLength(7);
  for (const [n, ms] of pauses.entries()) {
    const middle = Math.min(15_000 * 2 ** n, 300_000);
    expect([ms >= middle * 0.75, ms <= middle * 1.25], `pause ${n}: ${ms}`).toEqual([true, true]);
  }
  expect(connection.link).toMatchObject({ state: "down", reason: expect.stringContaining("another program uses this linked device") });
  await connection.stop();
  await session.close();
  await far.close();
  rmSync(folder, { recursive: true, force: true });
});
