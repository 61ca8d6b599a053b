import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message, Plugin, ServiceTypes, Spawn, Tier, TierEvent, TurnContext, TurnOptions } from "@svc/sdk";
import { createFakeContext, createMemoryStore, type EngineProgram, type EngineSubject, type StartedEngine } from "@svc/sdk/testing";
import { createMedia } from "../../kernel/capabilities/fetch/media.ts";
import { createFiles } from "../../kernel/capabilities/files/files.ts";
import { createSpawn } from "../../kernel/capabilities/processes/spawn.ts";
import { createPool, type PoolLimits } from "../../kernel/capabilities/processes/warm.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";

/** A tier plugin on real processes: the kernel's own spawn and pool, a scratch home and workspace, and our model server. */
export interface Stage {
  readonly server: ModelServer;
  readonly tier: Tier;
  readonly workspace: string;
  readonly home: string;
  readonly context: ReturnType<typeof createFakeContext>;
  /** Runs one turn and collects what the tier says. `listen` hears each event at once. */
  run(prompt: string, options?: RunOptions): Promise<TierEvent[]>;
  /** Process ids that carry this stage's mark. */
  processes(): number[];
  /** Sets the plugin up once more, with what is stored, as the next start of the daemon does. */
  start(program: EngineProgram): Promise<StartedEngine>;
  dispose(): Promise<void>;
}

export interface RunOptions extends Partial<TurnContext> {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly model?: string;
  readonly turn?: TurnOptions;
  readonly conversation?: string;
  readonly signal?: AbortSignal;
  readonly listen?: (event: TierEvent) => void;
}

export interface StageOptions {
  readonly config: Record<string, unknown> | ((url: string, home: string) => Record<string, unknown>);
  /** Variables of the daemon, made from the model server's address. */
  readonly env: (url: string, home: string) => Record<string, string>;
  readonly limits?: PoolLimits;
  /** What other plugins serve. */
  readonly services?: Partial<ServiceTypes>;
  /** Stands between the plugin and the kernel's spawn. */
  readonly around?: (spawn: Spawn) => Spawn;
}

let stages = 0;

/** Sets up a plugin as the daemon would and starts nothing else. */
export async function createStage(
  plugin: Plugin<never>,
  { config, env, limits = { maxIdleSeconds: 30, maxAgeSeconds: 2700, sweepIntervalSeconds: 5 }, around = (spawn) => spawn, services = {} }: StageOptions,
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "svc-peer-"));
  const [home, workspace] = [mkdtempSync(join(folder, "home-")), mkdtempSync(join(folder, "workspace-"))];
  const server = await startModelServer();
  const marker = `peer-${process.pid}-${++stages}`;
  const given = { PATH: process.env.PATH ?? "", HOME: home, LANG: "C.UTF-8", ...env(server.url, home) };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const store = createMemoryStore();
  const mute = join(folder, "mute.mjs");
  writeFileSync(mute, `#!${process.execPath}\nprocess.on("SIGTERM", () => {});\nsetInterval(() => {}, 1000);\n`, { mode: 0o755 });
  const ends: (() => Promise<void>)[] = [];

  async function start(own: Record<string, unknown>) {
    const spawn = createSpawn({ marker, baseEnv: given, log });
    const pool = createPool({ limits: () => limits, failed: (_, error) => console.error(error) });
    const context = createFakeContext(plugin, {
      config: own,
      env: given,
      spawn: around(spawn),
      files: createFiles({ own: join(folder, "data/own"), deps: { folder, dataFolder: join(folder, "data") } }),
      media: createMedia(),
      store,
      services,
      warm: pool.for(`${plugin.kind}-${plugin.name}`),
      agents: [{ id: "ada", workspace, tier: plugin.name }],
    });
    const lifecycle = plugin.setup(context as never);
    await lifecycle?.start?.();
    const stop = async () => {
      await lifecycle?.stop?.();
      await pool.end();
      await spawn.stopAll();
    };
    ends.push(stop);
    return { context, tier: context.registered.tiers[0] as Tier, stop };
  }

  const { context, tier } = await start(typeof config === "function" ? config(server.url, home) : config);
  let tasks = 0;
  return {
    server,
    tier,
    workspace,
    home,
    context,
    async run(prompt, { settings = {}, model, turn: options, conversation = "ada:test:-:chat", signal = new AbortController().signal, listen, ...given } = {}) {
      const id = `task_${++tasks}`;
      const message: Message = { entry: "task", channel: "test", chat: "chat", text: prompt, ...(options ? { options } : {}) };
      const events: TierEvent[] = [];
      const stream = tier.run(
        {
          id,
          rootId: id,
          agent: { id: "ada", name: "ada", workspace, tier: tier.name, mentions: [], access: "private", settings, ...(model ? { model } : {}) },
          route: { agent: "ada", conversation, reply: { channel: "test", chat: "chat" } },
          messages: [{ ...message, id, rootId: id, at: Date.now(), attempts: 0 }],
          attempt: 1,
          startedAt: Date.now(),
          strategy: "layered",
          nativeSessions: true,
          ended: new Promise(() => {}),
        },
        { system: "You are Ada.", layers: [], prompt, media: [], history: [], ...given },
        signal,
      );
      for await (const event of stream) {
        events.push(event);
        listen?.(event);
      }
      const end = events.findIndex(({ type }) => type === "done" || type === "error");
      if (!signal.aborted || end >= 0) assert.equal(end, events.length - 1, "a run has one end, after all else");
      return events;
    },
    processes: () => marked(marker),
    async start(program) {
      const own = typeof config === "function" ? config(server.url, home) : config;
      const commands = { engine: {}, mute: { command: mute, args: [] }, missing: { command: join(folder, "missing") } };
      const { args: _, ...others } = commands[program] as Record<string, unknown>;
      return start({ ...own, ...(own.args === undefined ? others : commands[program]) });
    },
    async dispose() {
      for (const end of ends) await end();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Living processes whose environment carries the mark. */
function marked(marker: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "latin1")
          .split("\0")
          .some((line) => line.startsWith(`SVC_RUN=${marker}.`));
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** The answer as a sender gets it. */
export function answerOf(events: readonly TierEvent[]): string {
  const end = events.at(-1);
  return (end?.type === "done" ? end.text : undefined) ?? events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

/** The first event of a type. */
export function first<T extends TierEvent["type"]>(events: readonly TierEvent[], type: T): Extract<TierEvent, { type: T }> | undefined {
  return events.find((event): event is Extract<TierEvent, { type: T }> => event.type === type);
}

/** What `engineContract` asks of a tier on a real program: its model says the words back, and what it was asked is looked at. */
export function engineSubject(stage: Stage, settings: Readonly<Record<string, unknown>>, model?: string): EngineSubject {
  return {
    start: (program) => stage.start(program),
    processes: () => stage.processes(),
    agent: { workspace: stage.workspace, settings, ...(model === undefined ? {} : { model }) },
    shared: { persistentProcess: true },
    works: { prompt: "the words of the turn", answer: "the words of the turn" },
    other: { prompt: "remember the blue lamp", answer: "the blue lamp" },
    endless: "SLOW:2000 these words come slowly one after the other until somebody stops them all now",
    silent: "MUTE",
    recalls: { prompt: "which lamp", knew: () => JSON.stringify(stage.server.requests.at(-1)?.body).includes("remember the blue lamp") },
    dispose: () => stage.dispose(),
  };
}

/**
 * Where a test of `tierContract` runs: those of an abort, and of what is left then, on a program of their own; the others on one that stays, of the
 * stage `warm`.
 */
export async function stageOfContract(name: string | undefined, warm: Stage, start: () => Promise<Stage>) {
  if (!/abort|cancel/.test(name ?? "")) return { stage: warm, settings: { persistentProcess: true }, dispose: async () => {} };
  const stage = await start();
  return { stage, settings: {}, dispose: () => stage.dispose() };
}
