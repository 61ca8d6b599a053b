import { once } from "node:events";
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";

const REMOTE = { headers: { "x-forwarded-for": "203.0.113.9" } };
const ask = async (base: string, path: string, init: RequestInit = {}) => {
  const response = await fetch(base + path, init);
  return { status: response.status, retryAfter: response.headers.get("retry-after"), text: await response.text() };
};

describe("GET /ready", () => {
  it("is 503 while the daemon starts, 200 while it runs, 503 with the reason while it drains", async () => {
    const seen: { status: number; text: string }[] = [];
    const early = definePlugin({
      kind: "feature",
      name: "early",
      version: "1.0.0",
      svc: "*",
      capabilities: ["routes"],
      setup(ctx) {
        ctx.provide.server({ name: "early", host: "127.0.0.1", port: 0 });
        return {
          async start() {
            seen.push(await ask(`http://127.0.0.1:${process.env.READY_PORT}`, "/ready"));
          },
        };
      },
    });
    const { createServer } = await import("node:net");
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address() as { port: number };
    probe.close();
    vi.stubEnv("READY_PORT", String(port));
    const { kernel, tier, message } = await runKernel({
      inline: [early as Plugin<never>],
      listen: true,
      config: { node: { id: "n1", name: "Node 1", defaultAgent: "a", bind: `127.0.0.1:${port}` } },
    });
    vi.unstubAllEnvs();
    expect(seen).toMatchObject([{ status: 503 }]);
    expect(JSON.parse(seen[0]?.text ?? "")).toMatchObject({ ready: false, state: "starting", reasons: ["the daemon is starting"] });
    const base = baseOf(kernel);
    expect(await ask(base, "/ready")).toMatchObject({ status: 200, retryAfter: null, text: '{"ready":true,"state":"running","reasons":[]}' });
    expect(await ask(base, "/ready", REMOTE)).toMatchObject({ status: 200, text: '{"ready":true}' });
    const running = kernel.tasks.run(message("hold"));
    await vi.waitFor(() => expect(tier.held).toBe(1));
    const stopping = kernel.stop({ drainSeconds: 20 });
    await vi.waitFor(async () => expect((await ask(base, "/ready")).status).toBe(503));
    const draining = await ask(base, "/ready");
    expect([draining.retryAfter, JSON.parse(draining.text)]).toMatchObject(["5", { ready: false, state: "draining", reasons: ["the daemon is draining"] }]);
    expect(await ask(base, "/ready", REMOTE)).toMatchObject({ status: 503, text: '{"ready":false}' });
    tier.release();
    await Promise.all([running, stopping]);
  });

  it("GET / says what this is", async () => {
    const { kernel } = await runKernel({ listen: true });
    expect(await ask(baseOf(kernel), "/")).toMatchObject({ status: 200, text: expect.stringMatching(/^svc is running\..*\n$/) });
  });
});

describe("GET /metrics", () => {
  const known = [join(ROOT, "plugins/features/metrics")];

  it("tells Prometheus on this machine what the daemon did and how it stands; a stranger needs a token", async () => {
    const folder = await temporaryFolder();
    const { kernel, message } = await runKernel({ known, listen: true, config: { metrics: { enabled: true } }, folder, dataFolder: join(folder, ".svc") });
    await kernel.tasks.run(message("hello"));
    await kernel.tasks.run(message("fail now"));
    const response = await fetch(`${baseOf(kernel)}/metrics`);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await response.text()).split("\n");
    for (const line of [
      'svc_tasks_total{agent="a",status="ok"} 1',
      'svc_tasks_total{agent="a",status="error"} 1',
      "svc_tasks_running 0",
      "svc_ready 1",
      'svc_plugin_state{plugin="feature-metrics",state="running"} 1',
    ])
      expect(lines).toContain(line);
    expect(Number(lines.find((line) => line.startsWith("svc_store_bytes "))?.split(" ")[1])).toBeGreaterThan(4_096);
    expect(lines.some((line) => line.startsWith("nodejs_eventloop_lag_seconds "))).toBe(true);
    // Each metric is described once.
    const described = lines.filter((line) => line.startsWith("# TYPE "));
    expect(new Set(described).size).toBe(described.length);
    expect((await ask(baseOf(kernel), "/metrics", REMOTE)).status).toBe(401);
  });

  it("is not there unless it is switched on", async () => {
    const { kernel } = await runKernel({ known, listen: true });
    expect((await ask(baseOf(kernel), "/metrics")).status).toBe(404);
  });
});
