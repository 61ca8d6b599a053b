import { createHash } from "node:crypto";
import type { PluginContext } from "@svc/sdk";
import type { Launch } from "./environment.ts";
import { openRpc, type Rpc } from "./rpc.ts";
import type { Section } from "./settings.ts";

/** One `codex app-server` process. */
export interface Engine {
  readonly rpc: Rpc;
  /** Threads opened in it. It keeps their MCP servers until it ends. */
  readonly threads: Set<string>;
  /** The key under which it is shared; unset for one that serves a single run. */
  readonly key?: string;
  /** Runs on it now. */
  users: number;
}

/** The engines of the plugin: one that all persistent agents of a sign-in share, and one for each other run. */
export interface Engines {
  /** Rejects with the spawn's or the handshake's error. */
  claim(program: string, launch: Launch, options: { readonly cwd: string; readonly taskId: string; readonly shared: boolean }): Promise<Engine>;
  /** Keeps a shared one for the next run, ends the others. `clean` names a thread whose commands are to be ended. Resolves when what must end has ended. */
  giveBack(engine: Engine, state: { readonly over: boolean; readonly clean?: string }): Promise<void>;
}

/** More threads than these in one process are not opened: each holds a set of MCP servers. */
const THREADS = 24;
const CLEAN_MS = 1_000;

export function createEngines(ctx: PluginContext<Section>): Engines {
  const inUse = new Map<string, Engine>();
  const opened = new Map<string, Promise<Engine>>();

  async function open(program: string, { args, env }: Launch, options: { readonly cwd: string; readonly taskId?: string }, key?: string): Promise<Engine> {
    const rpc = openRpc(ctx.spawn, program, args, { ...options, env });
    try {
      await rpc.started;
      await rpc.request("initialize", {
        clientInfo: { name: "svc", title: null, version: "0.1.0" },
        capabilities: { experimentalApi: true, requestAttestation: false },
      });
    } catch (error) {
      await rpc.stop();
      throw error;
    }
    rpc.notify("initialized");
    return { rpc, threads: new Set(), users: 0, ...(key === undefined ? {} : { key }) };
  }

  async function claimShared(key: string, make: () => Promise<Engine>): Promise<Engine> {
    const found = inUse.get(key) ?? ctx.warm.take<Engine>(key);
    if (found?.rpc.alive && found.threads.size < THREADS) {
      inUse.set(key, found);
      found.users++;
      return found;
    }
    const opening = opened.get(key) ?? make();
    opened.set(key, opening);
    try {
      const engine = await opening;
      inUse.set(key, engine);
      engine.users++;
      return engine;
    } finally {
      opened.delete(key);
    }
  }

  return {
    async claim(program, launch, { cwd, taskId, shared: wantsShared }) {
      if (!wantsShared) return open(program, launch, { cwd, taskId });
      const key = `cli-b:${createHash("sha256")
        .update(JSON.stringify([program, launch]))
        .digest("hex")
        .slice(0, 16)}`;
      return claimShared(key, () => open(program, launch, { cwd }, key));
    },
    async giveBack(engine, { over, clean }) {
      const { key, rpc } = engine;
      if (key === undefined) return over ? rpc.leave() : rpc.stop();
      // An interrupted turn leaves its commands running.
      const cleaned =
        clean === undefined ||
        !rpc.alive ||
        (await rpc.request("thread/backgroundTerminals/clean", { threadId: clean }, CLEAN_MS).then(
          () => true,
          () => false,
        ));
      if (!cleaned) await rpc.stop();
      if (--engine.users > 0) return;
      const current = inUse.get(key) === engine;
      if (current) inUse.delete(key);
      if (current && rpc.alive && engine.threads.size < THREADS) return ctx.warm.keep(key, engine, () => rpc.leave(), rpc.ended);
      if (current) ctx.warm.drop(key);
      await rpc.stop();
    },
  };
}
