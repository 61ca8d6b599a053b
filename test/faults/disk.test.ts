import { existsSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { ask, endDaemons, lacks, startDaemon, writeConfig } from "./daemon.harness.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-disk-"));
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

interface Refusal {
  readonly error: string;
  readonly code: string;
}
const message = (text: string) => ({ agent: "echo", message: text });

it.skipIf(ON_SERVER !== undefined)(
  "FAULT-09 FLT-8 on a full disk the daemon says 507 and when to come back, keeps what it acknowledged, and works again by itself",
  async (ctx) => {
    await mkdir(join(folder, ".svc"));
    const disk = smallDisk(join(folder, ".svc"), "4m");
    if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
    try {
      writeConfig(folder);
      const daemon = await startDaemon(folder);
      const first = await ask<{ taskId: string }>(daemon.port, "/task", message("before"));
      expect(first.status).toBe(200);
      // Somebody else takes the room.
      const theirs = join(folder, ".svc/theirs");
      const chunk = Buffer.alloc(64 * 1024, 1);
      const grow = () => {
        try {
          for (;;) writeFileSync(theirs, chunk, { flag: "a" });
        } catch {
          // Full.
        }
      };
      grow();
      const refused = await vi.waitFor(
        async () => {
          grow();
          const answer = await ask<Refusal>(daemon.port, "/task", message("x".repeat(60_000)));
          expect(answer.status).toBeGreaterThanOrEqual(500);
          return answer;
        },
        { timeout: 20_000, interval: 20 },
      );
      expect([503, 507]).toContain(refused.status);
      // FLT-8: whoever watches over it is told, and told when it is over.
      const full = await ask<{ ok: boolean; problems: string[] }>(daemon.port, "/health");
      expect(full.body).toMatchObject({ ok: false, problems: [expect.stringContaining("is full")] });
      expect(refused.body.code).toBe("SVC_STORE_FULL");
      expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
      // Reading goes on, and the ballast was given up so that deleting could.
      expect((await ask<{ status: string }>(daemon.port, `/traces/${first.body.taskId}`)).body.status).toBe("ok");
      expect(existsSync(join(folder, ".svc/ballast"))).toBe(false);
      rmSync(theirs);
      await vi.waitFor(async () => expect((await ask(daemon.port, "/task", message("after"))).status).toBe(200), { timeout: 20_000, interval: 200 });
      expect((await ask(daemon.port, "/health")).body).toMatchObject({ ok: true, problems: [] });
      await daemon.kill("SIGTERM");
      const again = await startDaemon(folder);
      expect((await ask<{ traces: { message: string }[] }>(again.port, "/traces?limit=200")).body.traces.map(({ message: text }) => text)).toEqual(
        expect.arrayContaining(["before", "after"]),
      );
      await again.kill("SIGTERM");
    } finally {
      await endDaemons();
      disk.remove();
    }
  },
);

for (const [what, victim] of [
  ["database", "svc.db"],
  ["whole data folder", "."],
] as const) {
  it.skipIf(what === "database" && ON_SERVER !== undefined)(
    `FLT-6 OPR-M9 the ${what} is removed under a running daemon: it acknowledges nothing more, says why and ends with 74`,
    async () => {
      writeConfig(folder);
      const daemon = await startDaemon(folder);
      expect((await ask(daemon.port, "/task", message("before"))).status).toBe(200);
      rmSync(join(folder, ".svc", victim), { recursive: true });
      expect(await daemon.ended).toBe(74);
      expect(daemon.said()).toContain("state can no longer be kept");
    },
  );
}

if (ON_SERVER !== undefined) console.warn(`skipped, the disk of the database: ${ON_SERVER}`);
const skipped = lacks("strace", "-o", "/dev/null", "true");
if (skipped !== undefined) console.warn(`skipped, a disk that fails: ${skipped}`);

it.skipIf(skipped !== undefined || ON_SERVER !== undefined)(
  "FAULT-11 when the disk refuses an fsync the daemon acknowledges nothing more and ends with 74, to be started anew",
  async () => {
    writeConfig(folder);
    const inject = ["-P", join(folder, ".svc/svc.db-wal"), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when=12+"];
    const daemon = await startDaemon(folder, { prefix: ["strace", "-f", "-o", "/dev/null", ...inject] });
    const acknowledged: string[] = [];
    for (let count = 0; count < 40; count += 1) {
      try {
        const { status, body } = await ask<{ taskId: string; ok: boolean }>(daemon.port, "/task", message(`message ${count}`));
        if (status === 200 && body.ok) acknowledged.push(body.taskId);
        else break;
      } catch {
        break;
      }
    }
    expect(await daemon.ended).toBe(74);
    expect(daemon.said()).toContain("SVC_STORE_FAILED");
    const again = await startDaemon(folder);
    for (const id of acknowledged) expect((await ask<{ status: string }>(again.port, `/traces/${id}`)).body.status).toBe("ok");
    expect((await ask(again.port, "/task", message("works"))).status).toBe(200);
    await again.kill("SIGTERM");
  },
);

it("OPR-M10 an agent whose workspace cannot be made is unwell by itself: the daemon starts, the others run, and SIGTERM ends it", async () => {
  const agent = (workspace: string) => ({ name: "Echo", workspace, tier: "local", local: { mode: "echo" } });
  writeConfig(folder, { agents: { echo: agent("./w"), b: agent("/proc/nope/ws") } });
  const daemon = await startDaemon(folder);
  const { body } = await ask<{ ok: boolean; problems: string[] }>(daemon.port, "/health");
  expect(body).toMatchObject({ ok: true, problems: [expect.stringContaining("agent b: the workspace /proc/nope/ws cannot be made")] });
  expect((await ask(daemon.port, "/task", message("hello"))).status).toBe(200);
  const refused = await ask<{ ok: boolean; error: string }>(daemon.port, "/task", { agent: "b", message: "hello" });
  expect(refused.body).toMatchObject({ ok: false, error: expect.stringContaining("Agent b cannot run: the workspace /proc/nope/ws cannot be made") });
  await daemon.kill("SIGTERM");
  expect(await daemon.ended).toBe(0);
});
