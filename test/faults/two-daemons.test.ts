import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ask, endDaemons, type Launched, lacks, launch, readNote, startDaemon, writeConfig } from "./daemon.harness.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-two-"));
  writeConfig(folder);
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

/** Starts several at once; one must work, and the others say why they do not. Answers the id of the one. */
async function startAtOnce(count: number): Promise<number> {
  const launched = Array.from({ length: count }, () => launch(folder));
  await vi.waitFor(() => expect(launched.filter(({ gone }) => gone)).toHaveLength(count - 1), { timeout: 20_000 });
  const { pid, port } = await vi.waitFor(() => {
    const note = readNote(join(folder, ".svc/daemon.json"));
    expect(note).toBeDefined();
    return note as { pid: number; port: number };
  });
  try {
    for (const { said, ended } of launched.filter(({ gone }) => gone)) {
      expect(await ended).toBe(75);
      expect(said()).toContain(String(pid));
    }
    expect((await ask<{ pid: number }>(port, "/health")).body.pid).toBe(pid);
  } finally {
    process.kill(pid, "SIGTERM");
    await Promise.all(launched.map(({ ended }) => ended));
  }
  return pid;
}

it("FAULT-71 of four daemons started at once on one folder one works, and the others end with 75 naming it", async () => {
  await startAtOnce(4);
});

it("FAULT-71 the folder of a daemon that was killed is taken over by one of those who try", async () => {
  const first = await startDaemon(folder);
  await first.kill("SIGKILL");
  await rm(join(folder, ".svc/daemon.json"));
  expect(await startAtOnce(3)).not.toBe(first.pid);
});

const CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL"];
const closed = lacks(CONTAINER[0] as string, ...CONTAINER.slice(1), "true");
if (closed !== undefined) console.warn(`skipped, daemons in containers: ${closed}`);

it.skipIf(closed !== undefined)(
  "FAULT-71 of two containers on one folder one works, though neither sees the other's processes; the next takes over when it is killed",
  async () => {
    const note = join(folder, ".svc/daemon.json");
    const all: Launched[] = [];
    const start = () => {
      const launched = launch(folder, { prefix: CONTAINER });
      all.push(launched);
      return launched;
    };
    const up = () => vi.waitFor(() => expect(readNote(note)).toBeDefined(), { timeout: 30_000 });
    // By the process that made the container: the id of the daemon is another one's here.
    const kill = async ({ pid, ended, gone }: Launched) => {
      if (!gone) process.kill(pid, "SIGKILL");
      await ended;
    };
    try {
      const first = start();
      await up();
      const second = start();
      expect(await second.ended).toBe(75);
      expect(second.said()).toContain("of another container");
      expect(first.gone).toBe(false);
      await kill(first);
      await rm(note);
      start();
      await up();
    } finally {
      for (const one of all) await kill(one);
    }
  },
  90_000,
);
