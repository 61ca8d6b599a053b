import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import { processIdentity } from "../../base/process-identity.ts";
import { sweepOrphans } from "./sweep.ts";

const heard: string[] = [];
const log = { debug: () => undefined, info: () => undefined, warn: () => heard.push("warn"), error: () => heard.push("error") };
const started: ChildProcess[] = [];

afterEach(() => {
  heard.length = 0;
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** What a daemon that was killed leaves behind, and others beside it. */
async function left(script: string, mark?: string): Promise<{ pid: number; gone: Promise<unknown>; runs(): boolean }> {
  const child = spawn("sh", ["-c", `${script.replace("READY", "echo ready >&2")}`], {
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"], ...(mark === undefined ? {} : { SVC_RUN: mark }) },
  });
  started.push(child);
  const gone = once(child, "exit");
  if (child.stderr !== null) await once(child.stderr, "data");
  return { pid: child.pid as number, gone, runs: () => child.exitCode === null && child.signalCode === null };
}

it("FAULT-05 FAULT-23 ends what an earlier daemon of the same folder left, also where SIGTERM is ignored, and nobody else's", async () => {
  const polite = await left("READY; exec sleep 600", "folder-a.run-1");
  const stubborn = await left("trap '' TERM; READY; while :; do sleep 1; done", "folder-a.run-2");
  const neighbour = await left("READY; exec sleep 600", "folder-ab.run-1");
  const stranger = await left("READY; exec sleep 600");
  const pids = await sweepOrphans({ marker: "folder-a", log, graceMs: 100 });
  await Promise.all([polite.gone, stubborn.gone]);
  expect(pids).toEqual(expect.arrayContaining([polite.pid, stubborn.pid]));
  expect(neighbour.runs() && stranger.runs()).toBe(true);
  expect(heard).toEqual(["warn"]);
  expect(await sweepOrphans({ marker: "folder-a", log, graceMs: 100 })).toEqual([]);
  expect(heard).toEqual(["warn"]);
});

it("ends a recorded process that lost its mark, with its children, and leaves a later process of the same id alone", async () => {
  const recorded = await left("sh -c 'READY; exec sleep 600' & wait");
  const reused = await left("READY; exec sleep 600");
  const identity = processIdentity(recorded.pid) as string;
  const pids = await sweepOrphans({
    marker: "folder-c",
    log,
    graceMs: 100,
    recorded: [
      { pid: recorded.pid, identity },
      { pid: reused.pid, identity: `${identity}0` },
      { pid: 2 ** 22 + 1, identity },
    ],
  });
  await recorded.gone;
  expect(pids).toHaveLength(2);
  expect(reused.runs()).toBe(true);
});

it("never ends the daemon that sweeps, though one of its own children may have started it", async () => {
  const script = `import { createJiti } from "jiti";
    const { sweepOrphans } = await createJiti(${JSON.stringify(import.meta.url)}).import("./sweep.ts");
    const quiet = () => undefined;
    console.log(JSON.stringify(await sweepOrphans({ marker: "folder-d", graceMs: 100, log: { debug: quiet, info: quiet, warn: quiet, error: quiet } })));`;
  const daemon = spawn("sh", ["-c", `"$0" --input-type=module -e "$1"; echo above`, process.execPath, script], {
    cwd: import.meta.dirname,
    env: { PATH: process.env["PATH"], SVC_RUN: "folder-d.run-1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(daemon);
  let said = "";
  daemon.stdout.on("data", (chunk) => (said += chunk));
  await once(daemon, "close");
  expect(said).toBe("[]\nabove\n");
});
