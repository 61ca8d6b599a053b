import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, type DaemonProcess, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** More with SVC_SOAK. */
const KILLS = Number(process.env.SVC_SOAK ?? 3);
const LENGTH = 6;

interface Told {
  readonly run: string;
  readonly node: number;
  readonly attempt: number;
  readonly last: boolean;
}

interface Chains {
  readonly runs: readonly {
    readonly key: string;
    readonly version: number;
    readonly value: { readonly state: string; readonly results: readonly { readonly node: number; readonly attempt: number }[] };
  }[];
  readonly told: readonly { readonly value: Told }[];
  readonly unfinished: number;
}

let folder: string;
let ledger: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  ledger = join(folder, "ledger");
  writeConfig(folder, { plugins: [join(import.meta.dirname, "chain.mjs")] });
});
afterEach(endDaemons);

const start = (env: Record<string, string> = {}) => startDaemon(folder, { env: { ...env, SVC_TEST_LEDGER: ledger } });
const look = async ({ port }: DaemonProcess) => (await ask<Chains>(port, "/chain")).body;
const PATIENCE = { timeout: 30_000, interval: 50 };

/** Attempts of a node that began, in the order they did. */
function begun(run: string, node: number): { attempt: number; redelivered: boolean }[] {
  const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n").filter(Boolean) : [];
  return lines
    .map((text) => JSON.parse(text) as { run: string; node: number; attempt: number; redelivered: boolean })
    .filter((one) => one.run === run && one.node === node)
    .map(({ attempt, redelivered }) => ({ attempt, redelivered }));
}

async function beginChain({ port }: DaemonProcess, run: string): Promise<void> {
  expect(await ask(port, "/chain", { run, length: LENGTH })).toMatchObject({ status: 200 });
}

it("FAULT-04 killed in the middle of a node, its chain runs that node again as attempt 2, no other, and ends once", { timeout: 60_000 }, async () => {
  const gate = join(folder, "c-3");
  writeFileSync(gate, "");
  const first = await start({ SVC_TEST_GATE: gate });
  await beginChain(first, "c");
  await vi.waitFor(() => expect(begun("c", 3)).toEqual([{ attempt: 1, redelivered: false }]), PATIENCE);
  await first.kill("SIGKILL");
  rmSync(gate);

  const second = await start();
  await vi.waitFor(async () => expect((await look(second)).runs[0]?.value.state).toBe("done"), PATIENCE);
  const ended = await look(second);
  const results = [1, 1, 2, 1, 1, 1].map((attempt, at) => ({ node: at + 1, attempt }));
  expect(ended.runs[0]?.value.results).toEqual(results);
  expect(begun("c", 3)).toEqual([
    { attempt: 1, redelivered: false },
    { attempt: 2, redelivered: true },
  ]);
  for (const node of [1, 2, 4, 5, 6]) expect(begun("c", node)).toEqual([{ attempt: 1, redelivered: false }]);
  expect(ended.told.filter(({ value }) => value.last)).toHaveLength(1);
  expect(ended.unfinished).toBe(0);

  // What has ended stays as it is.
  await second.kill("SIGKILL");
  const third = await start();
  expect(await look(third)).toEqual(ended);
  await third.kill("SIGTERM");
});

it(`FAULT-04 ${KILLS} kills at any moment: each chain ends once, its nodes in order, each with one result of its latest attempt`, {
  timeout: 60_000 + KILLS * 6_000,
}, async () => {
  const names: string[] = [];
  let daemon = await start();
  for (let kill = 0; kill < KILLS; kill += 1) {
    for (let n = 0; n < 3; n += 1) {
      names.push(`c${names.length}`);
      await beginChain(daemon, names.at(-1) as string);
    }
    await pause(Math.random() * 80);
    await daemon.kill("SIGKILL");
    daemon = await start();
    if (KILLS > 50 && kill % 25 === 24) console.log(`chains: kill ${kill + 1} of ${KILLS}; ${names.length} begun`);
  }
  await vi.waitFor(async () => expect((await look(daemon)).unfinished).toBe(0), { ...PATIENCE, timeout: 60_000 });
  const { runs, told } = await look(daemon);
  expect(runs.map(({ key }) => key).sort()).toEqual([...names].sort());
  const nodes = Array.from({ length: LENGTH }, (_, at) => at + 1);
  let again = 0;
  for (const { key, version, value } of runs) {
    expect(value.state, key).toBe("done");
    expect(
      value.results.map(({ node }) => node),
      key,
    ).toEqual(nodes);
    // Begun once, and written once a node.
    expect(version, key).toBe(1 + LENGTH);
    const history = told.map((entry) => entry.value).filter(({ run }) => run === key);
    expect(history.map(({ node, attempt }) => ({ node, attempt }))).toEqual(value.results);
    expect(history.map(({ last }) => last)).toEqual(nodes.map((node) => node === LENGTH));
    for (const { node, attempt } of value.results) {
      const attempts = begun(key, node);
      // Killed between the claim and the first line of the node, an attempt is counted and leaves no note.
      expect(attempts.map((one) => one.attempt)).toEqual([...new Set(attempts.map((one) => one.attempt))].sort((left, right) => left - right));
      expect(attempts.at(-1)?.attempt, `${key} ${node}`).toBe(attempt);
      for (const one of attempts) expect(one.redelivered).toBe(one.attempt > 1);
      if (attempt > 1) again += 1;
    }
  }
  expect(again, "no kill met a node").toBeGreaterThan(0);
  await daemon.kill("SIGTERM");
});
