import { createFakeContext } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import metrics from "./index.ts";

const at = "2026-01-01T00:00:00.000Z";
const envelope = (type: string, facts: object) => ({ id: "e", rootId: "r", node: "node_test", kind: "k", type, at, summary: "", ...facts });

async function started() {
  const now = () => ({
    ok: true,
    state: "running" as const,
    uptimeSeconds: 7,
    tasks: { running: 2, queued: 3 },
    plugins: [{ id: "channel-x", state: "failed", failures: 4 }],
    storeBytes: 4_096,
  });
  const health = Object.assign(now, { nodes: async () => [] });
  const ctx = createFakeContext(metrics, { config: { enabled: true }, health });
  const life = await metrics.setup(ctx);
  await life?.start?.();
  const tap = ctx.registered.taps[0]?.tap as (event: object) => void;
  return { tap, tell: async () => String((await ctx.request("GET", "/metrics")).body) };
}

it("tells tasks, deliveries, plugins, the store and the process in the text format", async () => {
  const { tap, tell } = await started();
  for (const status of ["ok", "ok", "error"]) tap(envelope("task:completed", { agentId: "a", data: { status, durationMs: 2_000 } }));
  tap(envelope("out", { data: { channel: "c", delivery: "d1" } }));
  tap(envelope("status", { data: { state: "delivery-expired", channel: "c", count: 5 } }));
  tap(envelope("delivery:uncertain", { data: { channel: "c" } }));
  const text = await tell();
  for (const line of [
    'svc_tasks_total{agent="a",status="ok"} 2',
    'svc_tasks_total{agent="a",status="error"} 1',
    'svc_task_duration_seconds_bucket{le="5",agent="a"} 3',
    'svc_deliveries_total{channel="c",result="sent"} 1',
    'svc_deliveries_total{channel="c",result="expired"} 5',
    'svc_deliveries_total{channel="c",result="uncertain"} 1',
    "svc_tasks_running 2",
    "svc_tasks_queued 3",
    "svc_ready 1",
    "svc_uptime_seconds 7",
    "svc_store_bytes 4096",
    'svc_plugin_state{plugin="channel-x",state="failed"} 1',
    'svc_plugin_failures{plugin="channel-x"} 4',
  ])
    expect(text.split("\n")).toContain(line);
  for (const name of ["process_resident_memory_bytes", "process_cpu_seconds_total", "nodejs_eventloop_lag_seconds"]) expect(text).toContain(`\n${name}`);
});

it("SEC-R8 counts nothing that another machine of the mesh tells, under whatever names", async () => {
  const { tap, tell } = await started();
  for (let n = 0; n < 100; n += 1) tap({ ...envelope("task:completed", { agentId: `made-up-${n}`, data: { status: "ok", durationMs: 1 } }), node: "other" });
  expect(await tell()).not.toMatch(/made-up/);
});

it("counts nothing that a plugin says in the daemon's place", async () => {
  const { tap, tell } = await started();
  tap(envelope("task:completed", { agentId: "a", source: "feature-liar", data: { status: "ok", durationMs: 1 } }));
  tap(envelope("out", { source: "feature-liar", data: { channel: "c", delivery: "d" } }));
  expect(await tell()).not.toMatch(/svc_(tasks|deliveries)_total\{/);
});
