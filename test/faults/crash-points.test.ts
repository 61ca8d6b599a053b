import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { type DaemonProcess, endDaemons, lacks, startDaemon, writeConfig } from "./daemon.harness.ts";
import { createWitness, type Witness } from "./witness.harness.ts";

/** Every point up to the first hundred with SVC_SOAK. */
const POINTS = process.env.SVC_SOAK === undefined ? [1, 2, 3, 5, 8] : Array.from({ length: 100 }, (_, at) => at + 1);
const skipped = lacks("strace", "-o", "/dev/null", "true");
if (skipped !== undefined) console.warn(`skipped, crash points: ${skipped}`);
if (ON_SERVER !== undefined) console.warn(`skipped, killed in a write of the database: ${ON_SERVER}`);

let folder: string;
let witness: Witness | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-points-"));
});
afterEach(async () => {
  await endDaemons();
  await witness?.close();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

/** From now on the daemon is killed in its n-th call of these on the database. False where this user may not trace. */
async function killAt(daemon: DaemonProcess, calls: string, nth: number): Promise<boolean> {
  const paths = ["svc.db", "svc.db-wal"].flatMap((name) => ["-P", join(folder, ".svc", name)]);
  const inject = `inject=${calls}:signal=KILL:when=${nth}`;
  const tracer = spawn("strace", ["-f", "-p", String(daemon.pid), ...paths, "-e", `trace=${calls}`, "-e", inject], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const attached = new Promise<boolean>((resolve) => {
    tracer.stderr.on("data", (chunk) => {
      said += chunk;
      if (said.includes("attached")) resolve(true);
    });
    void once(tracer, "close").then(() => resolve(said.includes("attached")));
  });
  return attached;
}

it.skipIf(skipped !== undefined || ON_SERVER !== undefined)(
  "FAULT-01 FAULT-02 killed at the n-th write or fsync of the path from accept to answer, nothing acknowledged is lost or doubled",
  { timeout: 60_000 + POINTS.length * 20_000 },
  async (ctx) => {
    witness = await createWitness(folder, 1);
    let killed = 0;
    for (const calls of ["pwrite64", "fsync,fdatasync"]) {
      for (const nth of POINTS) {
        const daemon = await witness.start();
        if (!(await killAt(daemon, calls, nth))) return ctx.skip("strace may not attach here");
        await witness.sendTo(daemon);
        expect(await daemon.ended).toBe("SIGKILL");
        killed += 1;
        if (POINTS.length > 10 && nth % 10 === 0)
          console.log(`${calls}: killed at ${nth} of ${POINTS.length}, ${witness.tally().acknowledged} messages acknowledged`);
      }
    }
    const daemon = await witness.start();
    expect(await witness.judge(daemon)).toEqual([]);
    expect(killed).toBe(2 * POINTS.length);
    await daemon.kill("SIGTERM");
  },
);

it.skipIf(skipped)(
  "FAULT-15 FAULT-16 killed at the n-th step of a save, svc.json is the old or the new one, and nothing is left over",
  { timeout: 180_000 },
  async () => {
    const file = join(folder, "svc.json");
    const text = (name: string) => JSON.stringify({ node: { id: "n", name }, agents: { a: { name: "A", workspace: "./w", tier: "local" } } }, null, 2);
    const program = [process.execPath, join(ROOT, "cli/bin/svc.cjs")];
    const left = async () => (await readdir(folder)).filter((name) => name.endsWith(".tmp") || name.endsWith(".lock"));
    let killed = 0;
    let most = 0;
    for (const call of ["fsync", "rename"]) {
      for (let nth = 1; ; nth += 1) {
        await writeFile(file, text("before"));
        const inject = ["-f", "-o", "/dev/null", "-e", `trace=${call}`, "-e", `inject=${call}:signal=KILL:when=${nth}`];
        const { signal, status } = spawnSync("strace", [...inject, ...program, "config", "set", "node.name", "after"], {
          cwd: folder,
          env: { ...process.env, SVC_CONFIG: "" },
        });
        const found = await readFile(file, "utf8");
        expect([text("before"), text("after")]).toContain(found);
        if (signal !== "SIGKILL" && status !== 137) {
          expect(found).toBe(text("after"));
          break;
        }
        killed += 1;
        most = Math.max(most, (await left()).length);
      }
      // The next save sweeps what killed ones left, and so does the next daemon.
      expect(await left()).toEqual([]);
    }
    expect(killed).toBeGreaterThanOrEqual(2);
    expect(most).toBeGreaterThan(0);
    await writeFile(join(folder, ".svc.json.99999999.0.tmp"), "{}");
    writeConfig(folder);
    const daemon = await startDaemon(folder);
    await vi.waitFor(async () => expect(await left()).toEqual([]), { timeout: 10_000 });
    await daemon.kill("SIGTERM");
  },
);
