import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { ask, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-wf-disk-"));
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

interface Detail {
  readonly status: string;
  readonly waits: readonly { readonly node: string; readonly kind: string }[];
  readonly timeline: readonly { readonly kind: string; readonly step?: string }[];
}

it.skipIf(ON_SERVER !== undefined)(
  "FAULT-09 a disk that fills up in the middle of a step: the result waits in memory, nothing else begins, and the run goes on when there is room",
  {
    timeout: 90_000,
  },
  async (ctx) => {
    mkdirSync(join(folder, ".svc"));
    const disk = smallDisk(join(folder, ".svc"), "6m");
    if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
    try {
      const ledger = join(folder, "ledger");
      const gate = join(folder, "gate");
      writeFileSync(ledger, "");
      writeConfig(folder, { workflows: { enabled: true } });
      for (const name of ["workflows", "actions"]) mkdirSync(join(folder, ".svc", name));
      const command = `printf '%s\\n' "$SVC_IDEMPOTENCY_KEY" >> ${ledger}; while [ ! -e ${gate} ]; do sleep 0.05; done; echo done`;
      writeFileSync(join(folder, ".svc/actions/mark.json"), JSON.stringify({ title: "Marks.", kind: "shell", command }));
      const nodes = [{ id: "start", kind: "trigger" }, ...["one", "two"].map((id) => ({ id, kind: "action", action: "mark" }))];
      const edges = [
        { from: "start", to: "one" },
        { from: "one", to: "two" },
      ];
      writeFileSync(join(folder, ".svc/workflows/marks.json"), JSON.stringify({ id: "marks", nodes, edges }));
      const marks = () => readFileSync(ledger, "utf8").trim().split("\n").filter(Boolean);
      const { port } = await startDaemon(folder);
      const { body } = await ask<{ runId: string }>(port, "/workflows/marks/run", {});
      const detail = async () => (await ask<Detail>(port, `/api/workflows/runs/${body.runId}`)).body;
      await vi.waitFor(() => expect(marks()).toEqual([`${body.runId}/one/1`]), { timeout: 20_000 });

      const theirs = join(folder, ".svc/theirs");
      const chunk = Buffer.alloc(16 * 1024, 1);
      const grow = () => {
        try {
          for (;;) writeFileSync(theirs, chunk, { flag: "a" });
        } catch {
          // Full.
        }
      };
      await vi.waitFor(
        async () => {
          grow();
          expect((await ask(port, "/task", { agent: "echo", message: "x".repeat(60_000) })).status).toBeGreaterThanOrEqual(500);
        },
        { timeout: 20_000, interval: 20 },
      );
      writeFileSync(gate, "");
      // A start is refused while its journal cannot be written.
      await vi.waitFor(async () => expect((await ask<{ code: string }>(port, "/workflows/marks/run", { text: "x".repeat(60_000) })).status).toBe(507), {
        timeout: 20_000,
      });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(await detail()).toMatchObject({ status: "running", waits: [{ node: "one", kind: "effect" }] });
      expect(marks()).toHaveLength(1);
      rmSync(theirs);
      const done = await vi.waitFor(
        async () => {
          const found = await detail();
          expect(found.status).toBe("completed");
          return found;
        },
        { timeout: 30_000, interval: 100 },
      );
      expect(marks()).toEqual([`${body.runId}/one/1`, `${body.runId}/two/1`]);
      expect(done.timeline.filter(({ kind }) => kind === "step.ended")).toHaveLength(3);
    } finally {
      await endDaemons();
      disk.remove();
    }
  },
);
