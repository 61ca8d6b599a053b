import { type Agent, type Capability, codeOf, type Lifecycle, onAbort, type PluginContext, withTimeout } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { CONTRACT_AGENT_KEYS } from "../core/config/contract-keys.ts";
import { AGENT_KEYS } from "../core/config/core-schema.ts";
import type { IsolationDeps } from "../core/host/isolation-port.ts";
import type { Source } from "../sources/source.ts";
import { type Args, readError, type WireError } from "./frames.ts";
import type { IsolationLimits } from "./isolation-limits.ts";
import { createOwnFiles } from "./own-files.ts";
import type { PluginProcess, PluginProcessOptions } from "./plugin-process.ts";
import { type CronJobs, createProcessApi, type ProcessApi } from "./process-api.ts";
import { createProxies, type PluginProxy } from "./proxies.ts";
import type { Described, Mirror, SetUp } from "./registrations.ts";
import { createSupervisor, type Instance, type Supervisor } from "./supervisor.ts";

/** Starts a process with the handlers of its output and calls. */
export type StartProcess = (
  options: Pick<PluginProcessOptions, "serve" | "onNotify" | "dropped" | "line">,
  capabilities: readonly Capability[],
) => Promise<PluginProcess>;

/** Inputs of setting up an isolated plugin. */
export interface SetUpOptions {
  readonly ctx: PluginContext<never>;
  readonly described: Described;
  readonly source: Pick<Source, "entry" | "folder">;
  readonly deps: IsolationDeps;
  readonly limits: IsolationLimits;
  readonly start: StartProcess;
  readonly dropped: (count: number) => void;
  /** Called as soon as there is a supervisor, before the plugin's own setup has run. */
  readonly supervisor: (supervisor: Supervisor) => void;
}

/**
 * Sets an isolated plugin up: its setup runs in its process, and its registrations are mirrored here by proxies, which stay when the process
 * restarts. A restarted process must register the same again, or the plugin is given up.
 *
 *   spawn > load > setup > (same as before?) > start > up > ends > pause, growing > spawn ...
 */
export async function setUpIsolated(options: SetUpOptions): Promise<Lifecycle<never>> {
  const { ctx, described, deps, limits } = options;
  const { capabilities } = described;
  const cronJobs: CronJobs = new Map();
  let config: unknown = ctx.config;
  let started = false;
  let starting: PluginProcess | undefined;

  const supervisor = createSupervisor({
    plugin: ctx.id,
    limits,
    now: deps.now ?? (() => performance.now()),
    restart,
    down(reason, pauseMs) {
      proxies.channelsDown(`${reason}; it is started again in ${Math.ceil(pauseMs / 1000)} s`);
      deps.onEnded?.("restarting", `${reason}; it is started again in ${(pauseMs / 1000).toFixed(1)} s`);
    },
    up: () => deps.onRecovered?.(),
    gaveUp(reason, consequence) {
      proxies.channelsDown(reason);
      deps.onEnded?.(consequence, reason);
    },
  });
  const proxies = createPluginProxies(ctx, described, supervisor);
  options.supervisor(supervisor);
  onAbort(ctx.signal, () => {
    const why = "its plugin has ended";
    starting?.kill(why);
    supervisor.stop()?.pluginProcess.kill(why);
  });

  /** Starts a process and sets the plugin up in it. On failure the process is ended. */
  async function startInstance(): Promise<{ readonly instance: Instance; readonly api: ProcessApi; readonly setUp: SetUp; readonly refresh: () => void }> {
    const api: ProcessApi = createProcessApi({
      ctx,
      capabilities,
      limits,
      peer: () => pluginProcess.peer,
      cronJobs,
      call: supervisor.call,
      channel: proxies.channelState,
      withdraw: proxies.withdraw,
      stray: (error) => deps.onStray?.(error instanceof Error ? error : readError(error as WireError, `in the process of ${ctx.id}`)),
      dropped: (_what, count) => options.dropped(count),
    });
    const pluginProcess: PluginProcess = await options.start(
      {
        serve: (on, args, { signal, of }) => api.serve(on, args, signal, of),
        onNotify: api.onNotify,
        dropped: (_what, count) => options.dropped(count),
        line: (line) => ctx.log.info({ output: true }, line),
      },
      capabilities,
    );
    starting = pluginProcess;
    if (ctx.signal.aborted) pluginProcess.kill("its plugin has ended");
    const mirror = keepMirror(ctx, described, pluginProcess, limits.pingMs);
    const close = () => {
      mirror.end();
      api.close();
    };
    try {
      await answered(pluginProcess, "load", loadArgs(ctx.id, options.source), limits.upMs);
      const own = capabilities.includes("files") ? { own: ctx.files.own.roots } : {};
      const facts = { id: ctx.id, config, node: ctx.node, capabilities, ...own };
      const setUp = (await answered(pluginProcess, "setup", { facts, mirror: mirror.sent }, limits.upMs)) as SetUp;
      return { instance: { pluginProcess, close }, api, setUp, refresh: mirror.refresh };
    } catch (error) {
      pluginProcess.kill("it was not set up");
      close();
      await pluginProcess.gone;
      throw error;
    } finally {
      starting = undefined;
    }
  }

  /** A further process, as far as the one before it was. */
  async function restart(): Promise<Instance> {
    await deps.verify?.().catch((error) => Promise.reject(Object.assign(error, { final: true })));
    const { instance, api, setUp, refresh } = await startInstance();
    try {
      if (!proxies.match(setUp)) throw Object.assign(fail("SVC_ISOLATION_DRIFT", { plugin: ctx.id }), { final: true });
      if (started) {
        refresh();
        if (setUp.lifecycle.includes("start")) await answered(instance.pluginProcess, "start", {}, limits.upMs);
      }
      api.settle();
      proxies.restore();
      return instance;
    } catch (error) {
      instance.pluginProcess.kill("it was not started");
      instance.close();
      await instance.pluginProcess.gone;
      throw error;
    }
  }

  const { instance, setUp, refresh } = await startInstance();
  supervisor.keep(instance);
  proxies.register(setUp);

  const has = (member: "start" | "stop" | "reload") => setUp.lifecycle.includes(member);
  return {
    async start() {
      refresh();
      if (has("start")) await supervisor.call("start", {});
      started = true;
    },
    async stop() {
      const last = supervisor.stop();
      if (last === undefined) return;
      try {
        if (has("stop")) await stopped(last.pluginProcess, limits.stopMs);
      } finally {
        last.close();
        await last.pluginProcess.close();
      }
    },
    ...(has("reload")
      ? {
          async reload(next: never) {
            config = next;
            await supervisor.call("reload", { config }).catch((error) => {
              // Away: the next process is set up with it.
              if (codeOf(error) !== "SVC_ISOLATION_DOWN") throw error;
            });
          },
        }
      : {}),
  };
}

/** Proxies for the registrations of a plugin's first process, by their number there. */
function createPluginProxies(ctx: PluginContext<never>, described: Described, supervisor: Supervisor) {
  const sight = { view: (agent: Agent) => viewOf(agent, described), files: createOwnFiles(ctx, described.capabilities) };
  const early = new Map<number, () => void>();
  const withdrawn = new Set<number>();
  let things: readonly PluginProxy[] = [];
  let first: SetUp | undefined;

  function provide(n: number): void {
    const registration = first?.registrations[n];
    if (registration === undefined) throw new Error(`nothing is registered as ${n}`);
    things = Object.assign([...things], { [n]: createProxies(ctx, n, registration, supervisor, sight) });
  }

  return {
    /** Registers the first process's registrations, and applies channel states reported meanwhile. */
    register(setUp: SetUp): void {
      first = setUp;
      for (const n of setUp.registrations.keys()) provide(n);
      for (const report of early.values()) report();
    },
    /** Whether a further process has registered the same. */
    match: (setUp: SetUp): boolean => JSON.stringify(setUp) === JSON.stringify(first),
    withdraw(n: number): void {
      const taken = things[n]?.withdraw;
      if (taken === undefined) return;
      withdrawn.add(n);
      taken();
    },
    /** Registers again the things that an earlier process has withdrawn. */
    restore(): void {
      for (const n of withdrawn) provide(n);
      withdrawn.clear();
    },
    channelState(n: number, state: "ready" | "down", reason: string): void {
      const report = () => (state === "ready" ? things[n]?.channel?.ready(reason === "" ? undefined : reason) : things[n]?.channel?.down(reason));
      if (first === undefined) early.set(n, report);
      else report();
    },
    channelsDown(reason: string): void {
      for (const { channel } of things) channel?.down(reason);
    },
  };
}

/** Keeps the mirror in the plugin's process up to date. */
function keepMirror(ctx: PluginContext<never>, described: Described, pluginProcess: PluginProcess, everyMs: number) {
  let sent = mirrorOf(ctx, described);
  const refresh = () => {
    const mirror = mirrorOf(ctx, described);
    if (JSON.stringify(mirror) !== JSON.stringify(sent)) pluginProcess.peer.notify("mirror", mirror as Args);
    sent = mirror;
  };
  const looking = setInterval(refresh, everyMs).unref();
  return {
    get sent() {
      return sent;
    },
    refresh,
    end: () => clearInterval(looking),
  };
}

/** Arguments with which its process imports it. */
export const loadArgs = (id: string, { entry, folder }: Pick<Source, "entry" | "folder">): Args => ({ id, entry, ...(folder === undefined ? {} : { folder }) });

/** A call that a process must answer within that time, or it is ended. */
export async function answered(pluginProcess: PluginProcess, on: string, args: Args, ms: number): Promise<unknown> {
  const timer = setTimeout(() => pluginProcess.kill(`its ${on} took longer than ${ms} ms`), ms);
  try {
    return await pluginProcess.peer.call(on, args);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls the plugin's own stop with a timeout of `ms`. A process that exits in between counts as stopped. */
async function stopped(pluginProcess: PluginProcess, ms: number): Promise<void> {
  await withTimeout(Promise.race([pluginProcess.peer.call("stop", {}), pluginProcess.ended]), ms, () => undefined);
}

/** Returns the data that the context answers synchronously, for the mirror in the plugin's process. */
function mirrorOf(ctx: PluginContext<never>, described: Described): Mirror {
  const has = (capability: Capability) => described.capabilities.includes(capability);
  return {
    ...(has("agents") ? { agents: ctx.agents.list().map((agent) => viewOf(agent, described)) } : {}),
    ...(has("actions") ? { actions: ctx.actions.list() } : {}),
  };
}

/** Returns an agent without the settings of other plugins and of its tool servers: they may contain secrets. */
function viewOf(agent: Agent, { agentConfig }: Described): Agent {
  const own = new Set(Object.keys(agentConfig?.properties ?? {}));
  const plain = (value: unknown): boolean => typeof value !== "object" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
  const settings = Object.entries(agent.settings).filter(
    ([key, value]) => own.has(key) || ((AGENT_KEYS.has(key) || CONTRACT_AGENT_KEYS.has(key)) && plain(value)),
  );
  return { ...agent, settings: Object.fromEntries(settings) };
}
