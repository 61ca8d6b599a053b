import { readFileSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { type Approvals, definePlugin, type Envelope, type Plugin, type PluginContext } from "@svc/sdk";
import { afterEach, expect, vi } from "vitest";
import crons from "../../plugins/features/crons/index.ts";
import type { JobView } from "../../plugins/features/crons/overview.ts";
import type { Run } from "../../plugins/features/crons/runs.ts";
import type { JobSettings } from "../../plugins/features/crons/settings.ts";
import { baseOf, temporaryFolder } from "../kit/kernel.ts";
import { type Scripted, scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";
import { copyState } from "../kit/test-store.ts";

export const until = (condition: () => unknown) => vi.waitFor(() => expect(condition()).toBeTruthy(), { timeout: 20_000, interval: 10 });

/** A kernel with jobs, as the tests see it. */
export interface Stage {
  readonly kernel: Kernel;
  readonly folder: string;
  readonly tier: Scripted;
  readonly events: Envelope[];
  /** What went out on the channel `mail`: chat and text. */
  readonly sent: { readonly chat: string; readonly text: string }[];
  /** What was left to notices. */
  readonly notices: string[];
  /** The jobs that the clock would start, and a way to be it. */
  readonly clock: Map<string, (minute: Date) => Promise<void>>;
  readonly ctx: () => PluginContext;
  file(): Record<string, never> & { crons: Record<string, Partial<JobSettings>> };
  text(): string;
  job(id: string): Promise<JobView>;
  runs(id: string): Promise<readonly Run[]>;
  call(method: string, path: string, init?: { headers?: Record<string, string>; body?: string }): Promise<{ status: number; body: Record<string, unknown> }>;
  tool(name: string, input: Record<string, unknown>, agent?: string, taskId?: string): Promise<string>;
  /** Starts it and waits for its end. */
  ran(id: string): Promise<Run>;
  stop(): Promise<void>;
}

const open: Kernel[] = [];
afterEach(async () => {
  for (const kernel of open.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

/** A channel that keeps what it sends, and whoever notices are left to. */
const around = (sent: Stage["sent"], notices: string[] | undefined, approvals?: Partial<Approvals>) =>
  definePlugin({
    kind: "channel",
    name: "mail",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      const traits = { maxChars: 4_000, unit: "codepoint", dialect: "plain" } as const;
      const handle = ctx.provide.channel({
        name: "mail",
        traits,
        send: async ({ text, target }) => ({ platformId: `${sent.push({ chat: target.chat, text })}` }),
      });
      if (notices !== undefined) ctx.provide.service("notifier", { notify: async ({ text }) => void notices.push(text), destination: () => undefined });
      if (approvals !== undefined) ctx.provide.service("approvals", approvals as Approvals);
      return { start: async () => handle.ready() };
    },
  }) as Plugin<never>;

export interface StageOptions {
  readonly folder?: string;
  readonly tier?: Scripted;
  readonly agents?: Record<string, object>;
  readonly env?: Record<string, string>;
  readonly approvals?: Partial<Approvals>;
  readonly more?: readonly Plugin<never>[];
  /** Another plugin serves notices. */
  readonly notified?: true;
  /** Further sections of svc.json. */
  readonly sections?: Record<string, unknown>;
}

/** Writes svc.json with these jobs, unless the folder has one, and starts a kernel on it. */
export async function stage(
  jobs: Record<string, object> | undefined,
  { folder: given, tier = scriptedTier(), agents = {}, env = {}, approvals, more = [], sections = {}, notified }: StageOptions = {},
): Promise<Stage> {
  const folder = given ?? (await temporaryFolder());
  const config = join(folder, "svc.json");
  if (jobs !== undefined)
    writeFileSync(
      config,
      `${JSON.stringify(
        {
          node: { id: "n1", name: "Node 1", defaultAgent: "a", bind: "127.0.0.1:0" },
          agents: { a: { name: "A", workspace: "./w", tier: "scripted" }, b: { name: "B", workspace: "./w", tier: "scripted" }, ...agents },
          crons: jobs,
          ...sections,
        },
        null,
        2,
      )}\n`,
    );
  const [sent, notices, events]: [Stage["sent"], string[], Envelope[]] = [[], [], []];
  const clock: Stage["clock"] = new Map();
  let seen: PluginContext | undefined;
  const watched = {
    ...crons,
    setup(ctx: never) {
      const real = ctx as PluginContext;
      seen = real;
      const jobsOf = {
        ...real.jobs,
        cron: (id: string, expression: string, zone: string | undefined, run: (minute: Date) => Promise<void>) => {
          clock.set(id, run);
          const end = real.jobs.cron(id, expression, zone, run);
          return () => {
            if (clock.get(id) === run) clock.delete(id);
            end();
          };
        },
      };
      return (crons as Plugin<never>).setup(Object.create(real, { jobs: { value: jobsOf } }) as never);
    },
  } as Plugin<never>;
  const kernel = await createTestKernel({
    config,
    env: { ...process.env, ...env },
    listen: true,
    plugins: [tier.plugin as Plugin<never>, around(sent, notified ? undefined : notices, approvals), watched, ...more],
  });
  open.push(kernel);
  kernel.bus.subscribe((envelope) => events.push(envelope));
  await kernel.start();
  const call: Stage["call"] = async (method, path, init = {}) => {
    const response = await fetch(baseOf(kernel) + path, { method, ...init });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
  };
  const runs = async (id: string) => ((await call("GET", `/crons/${id}/runs?limit=200`)).body["runs"] ?? []) as readonly Run[];
  return {
    kernel,
    folder,
    tier,
    events,
    sent,
    notices,
    clock,
    ctx: () => seen as PluginContext,
    text: () => readFileSync(config, "utf8"),
    file: () => JSON.parse(readFileSync(config, "utf8")),
    call,
    runs,
    job: async (id) => ((await call("GET", "/crons")).body["crons"] as JobView[]).find((job) => job.id === id) as JobView,
    tool: (name, input, agent = "a", taskId) =>
      kernel.runTool(name, input, { agent, signal: new AbortController().signal, ...(taskId === undefined ? {} : { taskId }) }),
    async ran(id) {
      const before = (await runs(id)).length;
      expect((await call("POST", `/crons/${id}/run`)).status).toBe(202);
      return vi.waitFor(
        async () => {
          const [last, ...rest] = await runs(id);
          expect(rest.length).toBe(before);
          expect(last?.status).not.toBe("running");
          return last as Run;
        },
        { timeout: 20_000, interval: 20 },
      );
    },
    stop: () => kernel.stop({ drainSeconds: 0 }),
  };
}

/** A copy of the folder as a crash would leave it. */
export async function crashed({ folder }: Stage): Promise<string> {
  const copy = await temporaryFolder();
  await cp(folder, copy, { recursive: true, filter: (source) => source !== join(folder, ".svc") });
  await copyState(join(folder, ".svc"), join(copy, ".svc"));
  return copy;
}

/** Consequences are drawn after the end of a run is stored. */
export const settled = (stage: Stage, id: string, failures: number) =>
  vi.waitFor(
    async () => {
      const streak = await stage.ctx().store.collection<{ failures: number; owed?: string }>("streaks").get(id);
      expect(streak?.value.owed).toBeUndefined();
      expect(streak?.value.failures).toBe(failures);
    },
    { timeout: 20_000, interval: 20 },
  );
