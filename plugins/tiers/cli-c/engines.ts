import { createHash } from "node:crypto";
import type { PluginContext } from "@svc/sdk";
import type { Launch } from "./environment.ts";
import { openRpc, type Rpc } from "./rpc.ts";
import type { Section } from "./settings.ts";

/** One `gemini --acp` process. */
export interface Engine {
  readonly rpc: Rpc;
  /** Sessions opened in it. It keeps their MCP servers until it ends. */
  readonly sessions: Set<string>;
  /** The key under which it is shared; unset for one that serves a single run. */
  readonly key?: string;
  /** Runs on it now. */
  users: number;
}

/** The engines of the plugin: one that all persistent agents of a sign-in share, and one for each other run. */
export interface Engines {
  /** Rejects with the spawn's or the handshake's error. */
  claim(program: string, launch: Launch, options: { readonly cwd: string; readonly taskId: string; readonly shared: boolean }): Promise<Engine>;
  /** Keeps a shared one for the next run, ends the others. Resolves when what must end has ended. */
  giveBack(engine: Engine, state: { readonly over: boolean }): Promise<void>;
}

/** More sessions than these in one process are not opened: each holds a set of MCP servers. */
const SESSIONS = 24;

export function createEngines(ctx: PluginContext<Section>): Engines {
  const inUse = new Map<string, Engine>();
  const opened = new Map<string, Promise<Engine>>();

  async function open(program: string, { args, env }: Launch, options: { readonly cwd: string; readonly taskId?: string }, key?: string): Promise<Engine> {
    const rpc = openRpc(ctx.spawn, program, args, { ...options, env });
    try {
      await rpc.started;
      await rpc.request("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false } });
    } catch (error) {
      await rpc.stop();
      throw error;
    }
    return { rpc, sessions: new Set(), users: 0, ...(key === undefined ? {} : { key }) };
  }

  async function claimShared(key: string, make: () => Promise<Engine>): Promise<Engine> {
    const found = inUse.get(key) ?? ctx.warm.take<Engine>(key);
    if (found?.rpc.alive && found.sessions.size < SESSIONS) {
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
      const key = `cli-c:${createHash("sha256")
        .update(JSON.stringify([program, launch]))
        .digest("hex")
        .slice(0, 16)}`;
      return claimShared(key, () => open(program, launch, { cwd }, key));
    },
    async giveBack(engine, { over }) {
      const { key, rpc } = engine;
      if (key === undefined) return over ? rpc.leave() : rpc.stop();
      if (--engine.users > 0) return;
      const current = inUse.get(key) === engine;
      if (current) inUse.delete(key);
      if (current && rpc.alive && engine.sessions.size < SESSIONS) return ctx.warm.keep(key, engine, () => rpc.leave(), rpc.ended);
      if (current) ctx.warm.drop(key);
      await rpc.stop();
    },
  };
}
