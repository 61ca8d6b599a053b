import { createHmac } from "node:crypto";
import type { Trace } from "@svc/sdk";
import { afterEach, expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig } from "../kit/svc.ts";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

const KILLS = Number(process.env.SVC_SOAK ?? 3);
const SENDERS = 8;
const SECRET = "the-secret-of-the-builds";
const FILLER = "a line of a build's log, ".repeat(800);
afterEach(endDaemons);

/** A delivery of some 20 KB; every second one has an id of the sender's, the others are known by their bytes. */
function delivery(at: number) {
  const body = `{"type":"build", "number" : ${at}, "log":"${FILLER}"}`;
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  const headers = { "content-type": "application/json", "x-forge-signature-256": signature, ...(at % 2 === 0 ? { "x-delivery-id": `build-${at}` } : {}) };
  return { body, headers };
}

it(`FAULT-38 no delivery is lost or worked on twice while the daemon is killed ${KILLS} times under a sender that repeats what was not answered`, {
  timeout: 60_000 + KILLS * 20_000,
}, async () => {
  const folder = await temporaryFolder();
  writeConfig(folder, echoConfig({}, { webhooks: [{ id: "builds", source: "ci", agentId: "echo", secretEnv: "CI_SECRET" }] }));
  const start = () => startDaemon(folder, { env: { CI_SECRET: SECRET } });
  let daemon: DaemonProcess = await start();
  let over = false;
  let next = 0;
  const tasks = new Map<number, string>();
  const strange: string[] = [];

  async function sendUntilTaken(at: number): Promise<void> {
    const { body, headers } = delivery(at);
    for (;;) {
      try {
        const response = await fetch(`http://127.0.0.1:${daemon.port}/webhook/echo/ci`, { method: "POST", body, headers, signal: AbortSignal.timeout(10_000) });
        const answer = (await response.json()) as { taskId: string };
        if (response.status === 202 || response.status === 200) {
          tasks.set(at, answer.taskId);
          return;
        }
        if (response.status !== 503) strange.push(`${response.status} ${JSON.stringify(answer)}`);
      } catch {
        // Killed meanwhile: nobody knows whether it was taken.
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const senders = Array.from({ length: SENDERS }, async () => {
    while (!over) {
      const at = next;
      next += 1;
      await sendUntilTaken(at);
      // What was answered is delivered once more now and then, as senders do.
      if (at % 5 === 0) await sendUntilTaken(at);
    }
  });

  for (let kill = 0; kill < KILLS; kill += 1) {
    const taken = tasks.size;
    await vi.waitFor(() => expect(tasks.size).toBeGreaterThan(taken + 3 + (kill % 7)), { timeout: 20_000, interval: 2 });
    await daemon.kill("SIGKILL");
    daemon = await start();
  }
  over = true;
  await Promise.all(senders);
  expect(strange).toEqual([]);
  expect([...tasks.keys()].sort((one, other) => one - other)).toEqual(Array.from({ length: next }, (_, at) => at));

  const traces: Trace[] = [];
  await vi.waitFor(
    async () => {
      traces.length = 0;
      let before = "";
      for (;;) {
        const { body } = await ask<{ traces: Trace[] } | Trace[]>(daemon.port, `/traces?channel=webhook&limit=200${before}`);
        const page = Array.isArray(body) ? body : body.traces;
        traces.push(...page);
        if (page.length < 200) break;
        // Rows of one millisecond may lie on both sides of a page.
        before = `&before=${(page.at(-1)?.startedAt ?? 0) + 1}`;
      }
      expect(traces.filter(({ status }) => status === "in-flight")).toEqual([]);
    },
    { timeout: 60_000, interval: 200 },
  );
  const byId = new Map(traces.map((trace) => [trace.id, trace]));
  expect([...byId.keys()].sort()).toEqual([...tasks.values()].sort());
  expect([...byId.values()].filter(({ status }) => status !== "ok").map(({ status, error }) => `${status} ${error}`)).toEqual([]);
});
