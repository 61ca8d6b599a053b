import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import type { Envelope, Plugin, WorkflowRun } from "@svc/sdk";
import { afterEach, expect, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, temporaryFolder } from "../kit/kernel.ts";
import { type Scripted, scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

/** An answer over HTTP. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** An entry of a timeline, as far as tests look at it. */
export interface Line {
  readonly seq: number;
  readonly kind: string;
  readonly step?: string;
  readonly at: string;
}

/** A run as `GET /api/workflows/runs/:id` tells it. */
export interface RunDetail extends WorkflowRun {
  readonly timeline: readonly Line[];
  readonly steps: readonly { readonly id: string; readonly status: string; readonly attempt: number; readonly output?: unknown }[];
  readonly children: readonly { readonly id: string; readonly status: string }[];
}

/** A kernel with workflows, a dashboard and the agent `a` on a scripted tier. */
export interface Stage {
  readonly kernel: Kernel;
  readonly folder: string;
  readonly tier: Scripted;
  readonly events: Envelope[];
  /** Of the daemon's own server, and of the dashboard's. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  page(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  run(id: string): Promise<RunDetail>;
  /** Starts one and gives its id. */
  start(workflow: string, payload?: Record<string, unknown>): Promise<string>;
  /** Waits until the run says so. */
  until(id: string, status: string): Promise<RunDetail>;
  /** Waits until a node of the run waits so, or is at work (`effect`). */
  untilWaits(id: string, node: string, kind: string): Promise<RunDetail>;
  stop(): Promise<void>;
}

const FEATURES = ["approvals", "business", "dashboard", "tokens", "workflows"].map((name) => join(ROOT, "plugins/features", name));

const open: Kernel[] = [];
afterEach(async () => {
  for (const kernel of open.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

export interface StageOptions {
  /** Goes on with what an earlier stage left. */
  readonly folder?: string;
  readonly tier?: Scripted;
  readonly plugins?: readonly Plugin<never>[];
  readonly sections?: Record<string, unknown>;
  /** Of the dashboard: with one, whoever has none is refused. */
  readonly token?: string;
}

/** Edges of `a > b, a.error > c`. */
export const edges = (text: string) =>
  text.split(",").map((edge) => {
    const [source = "", to = ""] = edge.split(">").map((part) => part.trim());
    const [from = "", fromPort] = source.split(".");
    return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
  });

/** A definition of these nodes with a trigger `start`. */
export const flow = (nodes: readonly object[], ways: string, more: object = {}) => ({
  nodes: [{ id: "start", kind: "trigger", ...("inputSchema" in more ? { inputSchema: more.inputSchema } : {}) }, ...nodes],
  edges: edges(ways),
  ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== "inputSchema")),
});

/** Writes the definitions and starts a kernel. */
export async function stage(definitions: Record<string, object>, options: StageOptions = {}): Promise<Stage> {
  const { folder = await temporaryFolder(), tier = scriptedTier(), plugins = [], sections = {}, token } = options;
  const config = join(folder, "svc.json");
  mkdirSync(join(folder, ".svc/workflows"), { recursive: true });
  for (const [id, definition] of Object.entries(definitions))
    writeFileSync(join(folder, ".svc/workflows", `${id}.json`), JSON.stringify({ id, ...definition }));
  const document = {
    node: { id: "n1", name: "Node 1", defaultAgent: "a", bind: "127.0.0.1:0" },
    agents: { a: { name: "A", workspace: "./w", tier: "scripted" } },
    dashboard: { enabled: true, port: 0, ...(token === undefined ? {} : { token }) },
    workflows: { enabled: true, dir: join(folder, ".svc/workflows") },
    resume: { crashLoop: { restarts: 1000, windowMinutes: 1 } },
    ...sections,
  };
  writeFileSync(config, JSON.stringify(document));
  const events: Envelope[] = [];
  const kernel = await createTestKernel({ config, listen: true, plugins: [tier.plugin as Plugin<never>, ...plugins], known: FEATURES });
  open.push(kernel);
  kernel.bus.subscribe((envelope) => events.push(envelope));
  await kernel.start();
  const calls =
    (base: () => string) =>
    async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(base() + path, { method, headers: { "content-type": "application/json", ...headers }, ...init });
      const text = await response.text();
      return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown> };
    };
  const call = calls(() => baseOf(kernel));
  const run = async (id: string) => (await call("GET", `/api/workflows/runs/${id}`)).body as unknown as RunDetail;
  const becomes = (id: string, check: (detail: RunDetail) => void) =>
    vi.waitFor(
      async () => {
        const detail = await run(id);
        check(detail);
        return detail;
      },
      { timeout: 20_000, interval: 20 },
    );
  return {
    kernel,
    folder,
    tier,
    events,
    call,
    page: calls(() => `http://127.0.0.1:${kernel.servers.find(({ name }) => name === "dashboard")?.port}`),
    run,
    async start(workflow, payload = {}) {
      const { status, body } = await call("POST", `/workflows/${workflow}/run`, { payload });
      expect(status, JSON.stringify(body)).toBe(202);
      return body["runId"] as string;
    },
    until: (id, status) => becomes(id, (detail) => expect(detail.status, JSON.stringify(detail.error)).toBe(status)),
    untilWaits: (id, node, kind) => becomes(id, ({ waits }) => expect(waits).toContainEqual(expect.objectContaining({ node, kind }))),
    stop: () => kernel.stop({ drainSeconds: 0 }),
  };
}
