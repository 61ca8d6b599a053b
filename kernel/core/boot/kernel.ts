/*
 * Boot, run, reload, stop: the only file that sees all rooms.
 *
 *   1 read      environment, document, plugins it asks for, schema, check   fails: SVC_CONFIG_*, nothing was opened
 *   2 open      data folder lock, store                                     fails: SVC_DAEMON_RUNNING, SVC_STORE_*
 *   3 build     bus, log, hooks, pipeline, capabilities
 *   4 set up    each plugin's setup; a broken one is listed and left out
 *   5 readmit   what a crash or stop left unfinished stands in line again, before anything new can
 *   6 listen    HTTP, if asked for: work is taken, and waits behind what was readmitted
 *   7 start     each plugin's start, side by side, each with its limit
 *   8 open      the work begins, in the old order; what is not resumed is reported
 *   9 run       until stop or restart: refuse, drain, interrupt, close in the opposite order
 */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Subscription, subscribes } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { lockFolder } from "../../base/folder-lock.ts";
import { ensureInstance } from "../../base/instance.ts";
import { logOf, type RootLog } from "../../base/log.ts";
import { type Bus, createBus } from "../bus/index.ts";
import { describeProblem, entriesOf, keepLastGood, readConfiguration, withTroubles } from "../config/configuration.ts";
import { type DocumentSource, diffConfig, drainSeconds, loadEnvironment, openDocument } from "../config/index.ts";
import { lastCrash, noteStart, noteStop, readResume, recover } from "../flow/recover.ts";
import { abilitiesOf } from "../host/agent-abilities.ts";
import { type AgentTable, readAgents } from "../host/agents.ts";
import { call as callPlugin } from "../host/call.ts";
import { channelsOf, testChannelOf } from "../host/channel-status.ts";
import { PHASE_LIMITS } from "../host/entry.ts";
import { createHost } from "../host/host.ts";
import { authoritiesOf, routesOf } from "../host/live.ts";
import { type Closing, closeAll } from "./closing.ts";
import { healthOf } from "./health.ts";
import type { HttpServing } from "./http-port.ts";
import type { KernelParts } from "./kernel-parts.ts";
import type { Health, KernelPort, ReloadReport } from "./kernel-port.ts";
import { startMaintenance } from "./maintenance.ts";
import { type Kernel, type KernelOptions, requireKnownOptions } from "./options.ts";
import { pluginEvents } from "./plugin-events.ts";
import { readRestart } from "./restart.ts";
import { readRetention } from "./retention.ts";
import { buildRuntime, type Runtime } from "./runtime.ts";
import { createShutdown } from "./shutdown.ts";
import { type StateStore, stateStore } from "./state-store.ts";
import { createStatusEvents } from "./status-events.ts";
import { createWorkspaces } from "./workspaces.ts";

/** The version that `/health` shows when the embedding program gives none. */
const VERSION = "0.1.0";
/** How long an agent waits for a tool, in milliseconds. */
const TOOL_MS = 60_000;

/** Make a kernel: reads and checks the configuration and imports the plugins it asks for. Throws `SVC_CONFIG_*` when it cannot run. */
export async function createKernel(options: KernelOptions, parts: KernelParts): Promise<Kernel> {
  requireKnownOptions(options);
  const now = options.now ?? Date.now;
  const source: DocumentSource = typeof options.config === "string" ? { file: resolve(options.config) } : { value: options.config };
  const folder = resolve(options.folder ?? ("file" in source ? dirname(source.file) : "."));
  const dataFolder = resolve(folder, options.dataFolder ?? ".svc");
  const onDisk = options.dataFolder !== undefined || "file" in source;
  /** Without a data folder, what plugins write goes when the kernel stops. */
  const stateFolder = onDisk ? dataFolder : join(tmpdir(), `svc-${randomUUID()}`);
  const env = "file" in source ? loadEnvironment(folder, options.env ?? process.env) : (options.env ?? {});

  // 1 read
  const document = openDocument("file" in source && options.configText !== undefined ? { ...source, text: options.configText } : source, env);
  const host = createHost(
    {
      parts,
      known: options.known ?? [],
      entries: entriesOf(document),
      inline: options.plugins ?? [],
      folder,
      searchFolders: [dataFolder, ...(options.searchFolders ?? [])],
      dataFolder,
      quarantine: onDisk ? "kept" : "none",
      env,
    },
    {
      changed,
      ...pluginEvents(
        () => log,
        () => bus,
      ),
    },
    { ...PHASE_LIMITS, ...options.limits },
  );
  let http: HttpServing | undefined;
  const httpPart = await parts.http();
  // Before any plugin runs: from then on each promise carries a scope, and importing makes thousands of them.
  if (options.listen) await httpPart.load();
  let configuration = await readConfiguration(document, host);
  const unusable = () => new Map([...workspaces.problems, ...configuration.unusable]);
  const readTable = (): AgentTable => readAgents(configuration.value, folder, unusable());
  const workspaces = createWorkspaces(
    () => log,
    () => {
      agents = readTable();
    },
  );
  let agents = readTable();
  const node = configuration.value.node as { id: string; name: string; defaultAgent?: string };

  // 3 build; what needs the store waits for `start`
  const log: RootLog = logOf(options.log, () => configuration);
  const bus: Bus = createBus({
    node: node.id,
    ringSize: (configuration.value.events as { ringSize?: number } | undefined)?.ringSize ?? 1000,
    onListenerError: (error) => log.error({ err: error }, "an event listener failed"),
    now,
  });
  const news = createStatusEvents(log, bus, node.name);
  let state: Health["state"] = "stopped";
  let startedAt = now();
  let fatal: Error | undefined;
  let instance: string | undefined;
  let crashedAt: number | undefined;
  const { version = VERSION } = options;
  let runtime: Runtime | undefined;
  const serving: HttpServing = httpPart.open({
    kernel: () => port,
    listen: options.listen ?? false,
    config: () => configuration.value,
    folder: stateFolder,
    instance: () => instance,
    routes: () => routesOf(host.live),
    authorities: () => authoritiesOf(host.live),
    log,
  });
  http = serving;
  const shutdown = createShutdown({
    log,
    now,
    rules: () => readRestart(configuration.value),
    pipeline: () => open().pipeline,
    schedule: () => open().schedule,
    drainSeconds: (agent) => Math.max(drainSeconds(configuration.value, env), agents.settings(agent)?.drainTimeoutSeconds ?? 0),
    enter: (next) => {
      state = next;
    },
    async close() {
      // A reload may still bring plugins up.
      await reloading;
      await noteStop(open().core).catch((error) => log.error({ err: error }, "the clean stop was not stored"));
      await close();
    },
    tell: (summary, data) => bus.publish({ kind: "status", type: "status", summary, data }),
    onRestart: options.onRestart,
  });
  let unheard = (): void => {};
  let starting: Promise<unknown> = Promise.resolve();
  let reloading: Promise<unknown> = Promise.resolve();

  function changed(): void {
    http?.changed();
  }

  const open = (): Runtime => {
    if (runtime === undefined) throw fail("SVC_KERNEL_STOPPED");
    return runtime;
  };

  async function start(): Promise<void> {
    if (state !== "stopped") throw fail("SVC_KERNEL_STARTED");
    const turn = boot();
    starting = turn.catch(() => {});
    await turn;
  }

  async function boot(): Promise<void> {
    state = "starting";
    startedAt = now();
    fatal = undefined;
    news.starting({ version, node: node.id, folder, ...(onDisk ? { dataFolder } : {}) });
    try {
      // 2 open
      if (onDisk) mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
      const lock = onDisk ? lockFolder(dataFolder) : undefined;
      let store: StateStore | undefined;
      try {
        if (onDisk) instance = ensureInstance(dataFolder);
        const openDriver = async () =>
          (await parts.store()).openStore({ file: onDisk ? join(dataFolder, "svc.db") : ":memory:", log: log.child("store"), now });
        store = stateStore(options.store ?? (await openDriver()));
        // Whoever held a lease is dead: the folder is ours alone.
        await store.reclaim(node.id);
        runtime = buildRuntime(
          {
            node: port.node,
            env,
            dataFolder: stateFolder,
            folder,
            ...("file" in source ? { configFile: source.file } : {}),
            bus,
            log,
            host,
            now,
            provideServer: serving.provide,
            libraries: parts.capabilities,
            health: () => port.health(),
            requireServable: serving.requireServable,
            config: () => configuration.value,
            agents: () => agents,
          },
          store,
          lock,
        );
      } catch (error) {
        await store?.close().catch((failure) => log.error({ err: failure }, "the store did not close"));
        lock?.release();
        throw error;
      }
      const looked = await runtime.jobBook.earlier();
      const lost = (error: Error): void => {
        fatal = error;
        log.error({ err: error }, "state can no longer be kept; stopping");
        options.onFatal?.(error);
      };
      store.onFailure(lost);
      runtime.lock?.watch((reason) => lost(fail("SVC_LOCK_LOST", { reason })));
      const making = makeWorkspaces();
      const { exposures } = await parts.exposures();
      for (const problem of exposures(configuration, dataFolder)) log.warn(describeProblem(problem));
      // 4 set up
      await serving.prepare();
      await runtime.lender.ensure(host.declared());
      await host.setUp(configuration.wanted, runtime.services);
      unheard = bus.subscribe((envelope) => host.live.hooks.emit(envelope));
      await making;
      // 5 readmit
      const recovery = await recover(runtime, readResume(configuration.value), bus, log, now);
      if (!recovery.start.clean) news.crashed();
      // 6 listen
      if (options.listen) news.listening(await serving.listen());
      // 7 start
      await host.start();
      news.plugins(host.statuses());
      // 8 open
      await runtime.deliveries.start();
      await noteStart(runtime.core, recovery.start);
      runtime.pipeline.open();
      const reported = await recovery.report();
      crashedAt = await lastCrash(runtime.core);
      if (looked !== undefined) void runtime.schedule.since(looked);
      startMaintenance({ runtime, workspaces, ...(onDisk ? { folder, dataFolder } : {}), log, bus, now, rules: () => readRetention(configuration.value) });
      state = "running";
      await keepLastGood(configuration, dataFolder, log);
      news.running({ resumed: recovery.resumed, reported, startMs: now() - startedAt }, host.statuses());
    } catch (error) {
      await close().catch(() => {});
      throw error;
    }
  }

  /** An engine cannot start in a folder that is not there. An embedded kernel without a data folder makes none. */
  const makeWorkspaces = async (): Promise<void> => (onDisk ? workspaces.make(agents.list()) : undefined);

  /** The document as it is now. */
  const reopen = () => openDocument(source, "file" in source ? loadEnvironment(folder, options.env ?? process.env) : env);

  // 9 run
  async function reload(): Promise<ReloadReport> {
    await starting;
    log.reopen();
    if (state === "draining") throw fail("SVC_DAEMON_DRAINING");
    const { services, lender, pipeline } = open();
    const next = await readConfiguration(reopen(), host);
    const { changed, restartRequired } = diffConfig(configuration.value, next.value, next.checked.restartPaths);
    // What can fail comes first: a reload is refused as a whole.
    await lender.ensure(host.declared());
    configuration = next;
    agents = readTable();
    bus.resize((next.value.events as { ringSize?: number } | undefined)?.ringSize ?? 1000);
    await makeWorkspaces();
    const report = { reloaded: true, changed, restartRequired, failed: withTroubles(await host.apply(next.wanted, services), next, host) };
    pipeline.refill();
    await keepLastGood(next, dataFolder, log);
    news.reloaded(report);
    return report;
  }

  async function stop({ drainSeconds: given }: { drainSeconds?: number } = {}): Promise<void> {
    // What is on its way up is let come up: half of it could not be ended in good order.
    if (state === "starting") await starting;
    if (state !== "stopped") await shutdown.stop(given);
  }

  async function close(): Promise<void> {
    const closing = runtime;
    const steps: Closing[] = [
      ["the HTTP server", serving.close],
      // What is on the wire still has its channel; what is not waits in the outbox.
      ["the outbox", () => closing?.deliveries.stop()],
      ["the plugins", () => host.stop()],
      ["the schedule", () => closing?.schedule.stop()],
      ["what plugins were lent", () => closing?.lender.close()],
      ["the store", () => closing?.store.close()],
      ["the local secret", serving.forget],
      ["the lock", () => closing?.lock?.release()],
      ["the temporary folder", () => (onDisk ? undefined : rm(stateFolder, { recursive: true, force: true }))],
    ];
    await closeAll(steps, log).finally(() => {
      news.stopped();
      unheard();
      runtime = undefined;
      state = "stopped";
    });
  }

  const port: KernelPort = {
    node: { id: node.id, name: node.name },
    bus,
    get tasks() {
      return open().tasks;
    },
    agents: { get: (id) => agents.get(id), list: () => agents.list() },
    get traces() {
      return open().traces;
    },
    get defaultAgent() {
      return (configuration.value.node as { defaultAgent?: string }).defaultAgent;
    },
    health: () =>
      healthOf({
        ok: state === "running" && fatal === undefined,
        state,
        node: { id: node.id, name: node.name },
        ...(instance === undefined ? {} : { instance, folder }),
        version,
        ...(crashedAt === undefined ? {} : { lastCrash: new Date(crashedAt).toISOString() }),
        startedAt,
        now: now(),
        tasks: runtime?.pipeline.tasks,
        plugins: host.statuses(),
        unusable: unusable(),
        storage: runtime?.store.health(),
        fatal,
      }),
    reload: () => {
      const turn = reloading.then(reload, reload);
      reloading = turn.catch(news.refused);
      return turn;
    },
    async restart(request) {
      if (state !== "running") throw fail("SVC_DAEMON_DRAINING");
      // What could not start again must not be stopped for it.
      await readConfiguration(reopen(), host);
      return shutdown.restart(request);
    },
    strategies: host.strategies,
    capability: (agent) => abilitiesOf(agent, agents, host.live),
    channels: async () => channelsOf(host.live, open().core),
    testChannel: (name, signal) => testChannelOf(name, host.live, signal),
    routes: () => routesOf(host.live),
    authorities: () => authoritiesOf(host.live),
    tools: () => [...host.live.tools.values()].map(({ thing }) => thing),
    async runTool(name, input, call) {
      const owned = host.live.tools.get(name);
      if (owned === undefined) throw fail("SVC_TOOL_UNKNOWN", { tool: name });
      return callPlugin({ scope: owned.scope, what: `tool ${name}`, limitMs: TOOL_MS, run: () => owned.thing.run(input, call) }, [], call.signal);
    },
    subscriptions: (agent) => agents.settings(agent)?.subscriptions ?? [],
    matches: (agent, envelope) => ((agents.settings(agent)?.subscriptions ?? []) as Subscription[]).some((subscription) => subscribes(subscription, envelope)),
  };

  return Object.defineProperties(
    {
      log,
      start,
      stop,
      routesPlugin: (server = "daemon") => serving.mount(server),
      handler: (server = "daemon") => serving.handler(server),
      stray: host.stray,
    },
    {
      ...Object.getOwnPropertyDescriptors(port),
      configuration: { get: () => configuration, enumerable: true },
      address: { get: () => serving.address, enumerable: true },
      servers: { get: () => serving.servers, enumerable: true },
    },
  ) as unknown as Kernel;
}
